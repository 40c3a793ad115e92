"""What a request must be before any route is asked: meant for this server, from no foreign page; and whose it is."""
