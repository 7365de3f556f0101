"""Processes: started under a small launcher, waited for, adopted after a crash, and ended as whole trees."""
