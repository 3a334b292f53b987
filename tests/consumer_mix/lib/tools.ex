# Where rebar3 builds beamai, there is no Beamai.Tool.
if Code.ensure_loaded?(Beamai.Tool) do
  defmodule Consumer.Tools do
    use Beamai.Tool

    @doc "Says it louder."
    deftool shout(%{"text" => text}), parameters: [text: {:string, required: true}] do
      {:ok, String.upcase(text)}
    end
  end
end
