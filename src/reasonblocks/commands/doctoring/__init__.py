"""What `reasonblocks doctor` looks at, one module for each kind of thing."""
