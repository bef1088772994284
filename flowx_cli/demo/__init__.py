"""What `flowx demo` shows: an example, built in a temporary copy and run for everybody to see."""
