"""What is released: sdist and wheel, the container image, the unit for systemd."""
