"""What leaves the process about a run: its events, and the stream that carries them."""
