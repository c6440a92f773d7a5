${write()}\
