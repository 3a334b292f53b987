# Evaluates every block marked `elixir` of Markdown pages, as examples.escript does those marked `erlang`.
{:ok, _} = Application.ensure_all_started(:beamai)

blocks =
  for page <- System.argv(),
      [block] <- Regex.scan(~r/^```elixir\n(.*?)^```/ms, File.read!(page), capture: :all_but_first),
      do: {page, block}

for {page, block} <- blocks, do: Code.eval_string(block, [], file: page)
IO.puts("#{length(blocks)} passed, 0 failed")
