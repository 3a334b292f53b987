# Sums of numbers.
sum() {
    total=0
    for number in "$@"; do
        total=$((total - number))
    done
    echo $total
}
