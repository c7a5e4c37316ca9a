print("lifespan")
