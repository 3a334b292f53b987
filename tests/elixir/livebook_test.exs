defmodule Beamai.LivebookTest do
  use ExUnit.Case, async: true

  # What a reader of the notebook would run, cell by cell, each with the bindings of those before. The cell that installs
  # the package is the only one that is left out: it is what this test runs in.
  for path <- Path.wildcard(Path.join(__DIR__, "../../docs/livebook/*.livemd")) do
    test "the cells of #{Path.basename(path)} run" do
      path = unquote(path)
      cells = for [cell] <- Regex.scan(~r/^```elixir\n(.*?)^```/ms, File.read!(path), capture: :all_but_first), do: cell
      assert [install | cells] = cells
      assert install =~ "Mix.install("
      assert length(cells) > 4

      Enum.reduce(cells, {[], Code.env_for_eval(file: path)}, fn cell, {binding, env} ->
        {_value, binding, env} = Code.eval_quoted_with_env(Code.string_to_quoted!(cell, file: path), binding, env)
        {binding, env}
      end)
    end
  end
end
