# Prints its argument as a slug.
printf '%s\n' "$1" | tr "A-Z " "a-z-"
