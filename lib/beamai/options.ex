defmodule Beamai.Options do
  @moduledoc false

  alias Beamai.OptionError

  # Errors of options carry their explanation in the stack trace, where only shells look for it.
  @spec explained((() -> result)) :: result when result: term
  def explained(fun) do
    fun.()
  rescue
    # The other errors of Erlang, such as a FunctionClauseError, are rescued under this name, too.
    error in ErlangError ->
      case error do
        %ErlangError{original: reason} -> reraise OptionError.explained(reason, __STACKTRACE__), __STACKTRACE__
        other -> reraise other, __STACKTRACE__
      end
  end

  @spec text(String.t() | atom) :: String.t()
  def text(name) when is_atom(name), do: Atom.to_string(name)
  def text(name), do: name

  # A keyword list as a map; anything else as it is, for the Erlang side to judge.
  @spec pairs(term) :: term
  def pairs([]), do: %{}
  # A map would lose all but one of the values of a key.
  def pairs(list) when is_list(list), do: if(distinct?(list), do: Map.new(list), else: list)
  def pairs(other), do: other

  defp distinct?(list), do: Keyword.keyword?(list) and Enum.uniq_by(list, &elem(&1, 0)) == list

  @doc "Options without options of their own."
  @spec flat(keyword | map) :: map
  def flat(options), do: Map.new(pairs!(options))

  # Options of options are keyword lists, too; an empty list stays one, as in `allow: []`.
  @spec top_level(keyword | map) :: map
  def top_level(options), do: Map.new(pairs!(options), &option/1)

  defp pairs!(options) do
    unless (is_map(options) and not is_struct(options)) or Keyword.keyword?(options) do
      raise OptionError,
        reason: {:bad_option, :options},
        message: "the options are a keyword list or a map, not #{:beamai_validate.show(options)}"
    end

    with {key, _value} <- Enum.find(options, fn {key, _value} -> not is_atom(key) end) do
      raise OptionError,
        reason: {:bad_option, key},
        message: "#{inspect(key)} is not an option: the names of options are atoms#{if is_binary(key), do: ", here :#{key}"}"
    end

    options
  end

  @maps [:permissions, :sandbox, :skills, :lsp, :web, :agents, :limits, :budget, :compaction, :context, :tool_listing]
  # What is given as data stays as it is.
  @data [:tools, :conversation, :output, :kernel, :llm, :system_prompt]

  defp option({key, value}) when key in @data, do: {key, value}
  defp option({key, []}) when key in @maps, do: {key, %{}}
  defp option({:store, {module, options}}), do: {:store, {module, pairs(options)}}
  # Sub-agents are named by text, so they come in a map.
  defp option({:agents, agents}) when is_map(agents),
    do: {:agents, Map.new(agents, fn {name, one} -> {name, if(name == :paths, do: one, else: pairs(one))} end)}

  defp option({key, value}), do: {key, nested(value)}

  defp nested([{_, _} | _] = list) do
    if Keyword.keyword?(list), do: Map.new(list, fn {key, value} -> {key, nested(value)} end), else: list
  end

  defp nested(other), do: other
end
