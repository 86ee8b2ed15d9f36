"""A bounded queue of events on disk, for what could not be delivered: by this process later, or by the next one."""
