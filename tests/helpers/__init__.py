"""What tests share: small networks, searches, images, servers, processes that are killed."""
