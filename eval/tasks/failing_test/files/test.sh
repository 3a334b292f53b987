. ./sum.sh
failed=0
is() { [ "$1" = "$2" ] || { echo "expected $2, got $1"; failed=1; }; }
is "$(sum 1 2)" 3
is "$(sum 20 22)" 42
is "$(sum)" 0
exit $failed
