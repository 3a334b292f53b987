defmodule Beamai.Options do
  @moduledoc false

  alias Beamai.OptionError

  # Errors of options carry their explanation in the stack trace, where only shells look for it.
  @spec explained((() -> result)) :: result when result: term
  def explained(fun) do
    fun.()
  rescue
    error in ErlangError -> reraise OptionError.explained(error.original, __STACKTRACE__), __STACKTRACE__
  end

  @spec text(String.t() | atom) :: String.t()
  def text(name) when is_atom(name), do: Atom.to_string(name)
  def text(name), do: name

  # A keyword list as a map; anything else as it is, for the Erlang side to judge.
  @spec pairs(term) :: term
  def pairs([]), do: %{}
  def pairs(list) when is_list(list), do: if(Keyword.keyword?(list), do: Map.new(list), else: list)
  def pairs(other), do: other

  # Options of options are keyword lists, too; an empty list stays one, as in `allow: []`.
  @spec top_level(keyword | map) :: map
  def top_level(options) when is_map(options), do: Map.new(options, &option/1)

  def top_level(options) do
    if Keyword.keyword?(options) do
      Map.new(options, &option/1)
    else
      raise OptionError,
        reason: {:bad_option, :options},
        message: "the options are a keyword list or a map, not #{inspect(options)}"
    end
  end

  @maps [:permissions, :sandbox, :skills, :lsp, :web, :agents, :limits, :budget, :compaction, :context, :tool_listing]
  # What is given as data stays as it is.
  @data [:tools, :conversation, :output, :kernel, :llm, :store]

  defp option({key, value}) when key in @data, do: {key, value}
  defp option({key, []}) when key in @maps, do: {key, %{}}
  # Sub-agents are named by text, so they come in a map.
  defp option({:agents, agents}) when is_map(agents), do: {:agents, Map.new(agents, fn {name, one} -> {name, nested(one)} end)}
  defp option({key, value}), do: {key, nested(value)}

  defp nested([{_, _} | _] = list) do
    if Keyword.keyword?(list), do: Map.new(list, fn {key, value} -> {key, nested(value)} end), else: list
  end

  defp nested(other), do: other
end
