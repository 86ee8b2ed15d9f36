"""Why a step went as it did, from what is stored of it."""
