defmodule Beamai.Tool do
  @moduledoc """
  Tools of your own.

      defmodule MyApp.Weather do
        use Beamai.Tool, tags: ["weather"]

        @doc "Current weather of a city."
        deftool get_weather(%{"city" => city} = args, _context),
          parameters: [
            city: {:string, required: true, description: "Name of the city"},
            unit: {:string, enum: ["C", "F"], default: "C"}
          ] do
          {:ok, %{city: city, degrees: 25, unit: args["unit"]}}
        end
      end

      Beamai.new(tools: [:file, MyApp.Weather])

  A tool gets the arguments and, optionally, the context of the call. Arguments are a map with string keys, checked
  against `parameters`, with defaults filled in. It returns `{:ok, result}`, `{:ok, result, context}` or
  `{:error, reason}`; an exception becomes an error with its message. It runs in a process of its own, which is killed on
  timeout, on cancellation, and when the caller dies.

  `deftool` defines a function of that name with two arguments, which tests can call without a kernel, and adds the tool
  to `tools/0`. The function's `@doc` is the description that the model reads.

  ## Options of `use`

    * `:tags` - for tools without their own
    * `:description` - of the module

  ## Options of `deftool`

    * `:parameters` - a keyword list of names and types: `:string`, `:integer`, `:float`, `:boolean`, `:array`, `:object`,
      alone or as `{type, options}`. Options are `:description`, `:required`, `:default`, `:enum`, `:minimum`, `:maximum`,
      `:minItems`, `:maxItems`, `:items` (a type, of the elements of an array) and `:properties` (of an object). Without
      `:parameters`, any arguments are accepted
    * `:input_schema` - a JSON Schema with string keys, in place of `:parameters`
    * `:description` - in place of `@doc`
    * `:tags`, `:timeout` (milliseconds), `:retry` (`[max: tries, delay: milliseconds]`), `:filters` (names)
    * `:requires_permission` - whether the default policy asks for approval
    * `:read_only` - whether it changes nothing; such tools are available in the profile `:plan` of agents
    * `:metadata` - a map of your own

  A head can have a guard. Invalid options, a second `deftool` of a name, and names that end in `?` or `!` are compile errors.
  """

  @typedoc "Arguments as a model sends them."
  @type args :: %{String.t() => term}

  @typedoc "What a tool returns. Context keys that it leaves out keep their values."
  @type result :: {:ok, term} | {:ok, term, map} | {:error, term}

  @doc "The specs of the module's tools."
  @callback tools() :: [:beamai_tool.tool_spec()]

  @doc "A description of the module, and tags for its tools."
  @callback tool_info() :: %{optional(:description) => String.t(), optional(:tags) => [String.t()]}

  @doc false
  defmacro __using__(options) do
    quote do
      @behaviour Beamai.Tool
      import Beamai.Tool, only: [deftool: 2, deftool: 3]
      Module.register_attribute(__MODULE__, :beamai_tools, accumulate: true)
      @before_compile Beamai.Tool

      @doc false
      @impl Beamai.Tool
      def tool_info, do: Beamai.Tool.Spec.info!(unquote(options))
    end
  end

  @doc false
  defmacro __before_compile__(_env) do
    quote do
      @doc false
      @impl Beamai.Tool
      def tools do
        for spec <- unquote(Macro.escape(Enum.reverse(Module.get_attribute(__CALLER__.module, :beamai_tools)))), do: spec
      end
    end
  end

  @doc "Defines a tool; see the module's documentation."
  defmacro deftool(head, options \\ [], blocks) do
    place = [file: __CALLER__.file, line: __CALLER__.line]
    {name, head} = Beamai.Tool.Spec.head!(head, place)

    (Keyword.keyword?(blocks) and Keyword.has_key?(blocks, :do)) ||
      Beamai.Tool.Spec.refuse!("the tool #{name} has no do block", place)

    # `do:` on the line of the options is one of them.
    {blocks, more} = Keyword.split(blocks, [:do, :rescue, :catch, :else, :after])
    options = if more == [], do: options, else: more

    quote do
      Beamai.Tool.Spec.new_name!(__MODULE__, unquote(name), unquote(place))
      @beamai_tools Beamai.Tool.Spec.new!(__MODULE__, unquote(name), Module.get_attribute(__MODULE__, :doc), unquote(options))
      @spec unquote(name)(Beamai.Tool.args(), :beamai_context.t()) :: Beamai.Tool.result()
      def unquote(head), unquote(blocks)
    end
  end
end

defmodule Beamai.Tool.Spec do
  @moduledoc false

  @in_metadata [:requires_permission, :read_only]
  @as_they_are [:description, :input_schema, :timeout, :filters]

  @spec refuse!(String.t(), keyword) :: no_return
  def refuse!(description, place), do: raise(CompileError, [description: description] ++ place)

  # Name and head of the function.
  @spec head!(Macro.t(), keyword) :: {atom, Macro.t()}
  def head!({:when, meta, [head, guard]}, place) do
    {name, head} = head!(head, place)
    {name, {:when, meta, [head, guard]}}
  end

  def head!({name, meta, [args]}, place), do: head!({name, meta, [args, quote(do: _context)]}, place)

  def head!({name, _, [_, _]} = head, place) when is_atom(name) do
    if String.ends_with?(Atom.to_string(name), ["?", "!"]),
      do: refuse!("the name of the tool #{name} ends in a character that providers do not accept; leave it out", place)

    {name, head}
  end

  def head!(other, place), do: refuse!("deftool takes name(args) or name(args, context), not #{Macro.to_string(other)}", place)

  @spec new_name!(module, atom, keyword) :: :ok
  def new_name!(module, name, place) do
    if Enum.any?(Module.get_attribute(module, :beamai_tools), &(&1.name == Atom.to_string(name))) do
      refuse!("the tool #{name} is defined already; a tool has one deftool, in which a case can tell arguments apart", place)
    end

    :ok
  end

  @spec info!(keyword) :: map
  def info!(options) do
    case Keyword.keys(options) -- [:tags, :description] do
      [] -> Map.new(options)
      unknown -> raise ArgumentError, "use Beamai.Tool has no options #{inspect(unknown)}; the options are :tags and :description"
    end
  end

  @spec new!(module, atom, term, keyword) :: map
  def new!(module, name, doc, options) do
    spec =
      Enum.reduce(options, %{name: Atom.to_string(name), handler: {module, name}}, &option/2)
      |> with_description(doc)

    case :beamai_tool.validate(spec) do
      :ok -> spec
      {:error, reason} -> raise Beamai.OptionError.explained(reason, [])
    end
  end

  defp with_description(%{description: _} = spec, _doc), do: spec
  defp with_description(spec, {_line, text}) when is_binary(text), do: Map.put(spec, :description, String.trim(text))
  defp with_description(spec, text) when is_binary(text), do: Map.put(spec, :description, String.trim(text))
  defp with_description(spec, _none), do: spec

  defp option({:parameters, parameters}, spec), do: Map.put(spec, :parameters, properties(parameters))
  defp option({:tags, tags}, spec), do: Map.put(spec, :tag, tags)
  defp option({:retry, retry}, spec), do: Map.put(spec, :retry, Map.new(retry))
  defp option({:metadata, metadata}, spec), do: in_metadata(spec, Map.new(metadata))
  defp option({key, value}, spec) when key in @in_metadata, do: in_metadata(spec, %{key => value})
  defp option({key, value}, spec) when key in @as_they_are, do: Map.put(spec, key, value)

  defp option({key, _value}, _spec) do
    known = [:parameters, :tags, :retry, :metadata] ++ @in_metadata ++ @as_they_are
    raise ArgumentError, "deftool has no option #{inspect(key)}; the options are #{Enum.map_join(known, ", ", &inspect/1)}"
  end

  defp in_metadata(spec, more), do: Map.update(spec, :metadata, more, &Map.merge(&1, more))

  defp properties(parameters), do: Map.new(parameters, fn {name, type} -> {to_string(name), parameter(type)} end)

  defp parameter(type) when is_atom(type), do: %{type: type}
  defp parameter({type, options}), do: Enum.into(options, %{type: type}, &parameter_option/1)
  defp parameter(other), do: other

  defp parameter_option({:items, type}), do: {:items, parameter(type)}
  defp parameter_option({:properties, parameters}), do: {:properties, properties(parameters)}
  defp parameter_option(option), do: option
end
