defmodule Consumer do
  @moduledoc "Uses beamai from Elixir as anybody would."

  def kernel do
    :beamai_kernel.new()
    |> :beamai_kernel.add_tool_module(:beamai_tool_file)
    |> :beamai_kernel.add_tool(%{
      name: "greet",
      parameters: %{"name" => %{type: :string, required: true}, "title" => %{type: :string}},
      handler: fn args, _context -> {:ok, "hello #{args["name"]}"} end
    })
  end
end
