${text}\
