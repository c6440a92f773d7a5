"""One layer's graph on the array, as the writer of ADF C++ and the simulator's builder read it."""
