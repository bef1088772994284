"""What an operator sees of instances, and does to them."""
