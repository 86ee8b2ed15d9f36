"""What rb-api is, without HTTP: the store, the monitors, the patterns and the runs. Extra `engine`."""
