defmodule Beamai do
  @moduledoc """
  Tools for LLM agents: files, searches, commands, git, language servers and the web, in one kernel with one
  permission policy.

      iex> kernel = Beamai.new(tools: [:file])
      iex> {:ok, %{"files" => files}, _context} = Beamai.invoke(kernel, "file_glob", pattern: "*.exs")
      iex> "mix.exs" in files
      true

  A kernel is plain data: it can be stored, compared and sent to other processes; functions that add to it return a new
  one. Write your own tools with `Beamai.Tool`. Calls return errors as `Beamai.Error`; invalid options raise
  `Beamai.OptionError`, whose message says what is accepted.

  These functions take keyword lists where the Erlang API takes maps, and names as strings or atoms. Agents are in
  `Beamai.Agent`. The rest of the Erlang API works with the same kernels: `:beamai_chat`, `:beamai_mcp`,
  `:beamai_filters`.
  """

  import Beamai.Options, only: [explained: 1, pairs: 1, text: 1]

  alias Beamai.{Error, OptionError, Options}

  @family_names [:file, :shell, :git, :lsp, :web, :todo, :human, :task, :skill]
  @dialect_names [:coder, :ide, :microai]
  @families Map.new(
              for(name <- @family_names, do: {name, :"beamai_tool_#{name}"}) ++
                for(name <- @dialect_names, do: {name, :"beamai_dialect_#{name}"})
            )

  @accepted "tools are families (#{Enum.map_join(@family_names, ", ", &inspect/1)}), " <>
              "dialects (#{Enum.map_join(@dialect_names, ", ", &inspect/1)}), tool modules, and maps with :name and :handler"

  @typedoc "A set of tools with a workspace, a permission policy and filters."
  @type kernel :: :beamai_kernel.kernel()

  @typedoc """
  Tools to add: a family of built-in tools (`:file`, `:shell`, `:git`, `:lsp`, `:web`, `:todo`, `:human`, `:task`,
  `:skill`) or a dialect (`:coder`, `:ide`, `:microai`), a module with `use Beamai.Tool` or another tool module, or a
  tool spec, a map.
  """
  @type tools :: atom | :beamai_tool.tool_spec() | [tools]

  @typedoc "Result of `invoke/4`; a handler's own `{:error, term}` is returned unchanged."
  @type result :: {:ok, term, :beamai_context.t()} | {:error, Error.t() | term}

  @doc """
  Creates a kernel.

  ## Options

    * `:tools` - as for `add_tools/2`
    * `:workspace` - the directory that tools are confined to; by default the current one, unless that is `/` or the
      home directory
    * `:permissions` - `[allow: [rule], ask: [rule], deny: [rule], default: mode]`; by default, reading tools run, and
      all others ask for approval
    * `:approve` - a function of one argument, the request, that returns `:allow`, `{:allow, :session}`, `:deny` or
      `{:deny, reason}`
    * `:ask_user` - a function of one argument, a list of questions, that returns `{:ok, answers}` or `:cancelled`
    * `:sandbox` - `:required` (the default), `:best_effort`, `:off`, or options
    * `:default_timeout` - milliseconds, for tools without their own timeout
    * `:door`, `:skills`, `:lsp`, `:web`, `:agents`, `:limits` - as for `:beamai_kernel.new/1`

  Raises `Beamai.OptionError`.

      iex> kernel = Beamai.new(workspace: ".", tools: [:file, :shell], permissions: [allow: ["Bash(git:*)"]])
      iex> length(Beamai.list_tools(kernel))
      10

      iex> Beamai.new(workspac: ".")
      ** (Beamai.OptionError) workspac: is not an option; the options are workspace, permissions, approve, ask_user, sandbox, door, default_timeout, skills, web, lsp, agents, limits
  """
  @spec new(keyword | map) :: kernel
  def new(options \\ []) do
    {tools, options} = Map.pop(Options.top_level(options), :tools, [])
    explained(fn -> :beamai_kernel.new(options) end) |> add_tools(tools)
  end

  @doc """
  Adds tools to a kernel.

  Raises `Beamai.OptionError` for an invalid tool, and for a name that is already taken.

      iex> kernel = Beamai.add_tools(Beamai.new(), :todo)
      iex> Enum.map(Beamai.list_tools(kernel), & &1.name)
      ["todo_add", "todo_list", "todo_update"]
  """
  @spec add_tools(kernel, tools) :: kernel
  def add_tools(kernel, tools) when is_list(tools), do: Enum.reduce(tools, kernel, &add_tools(&2, &1))

  def add_tools(kernel, module) when is_atom(module) do
    explained(fn -> :beamai_kernel.add_tool_module(kernel, Map.get(@families, module, module)) end)
  rescue
    error in OptionError ->
      case error.reason do
        {:bad_tool_module, _} -> reraise %{error | message: "tools: #{error.message}; #{@accepted}"}, __STACKTRACE__
        _ -> reraise error, __STACKTRACE__
      end
  end

  def add_tools(kernel, spec) when is_map(spec), do: explained(fn -> :beamai_kernel.add_tool(kernel, spec) end)

  def add_tools(_kernel, other) do
    raise OptionError,
      reason: {:bad_option, :tools},
      message: "tools: #{:beamai_validate.show(other)} is not a tool; #{@accepted}"
  end

  @doc """
  Adds a filter to a kernel: what `:beamai_filter.new/2` or a function of `:beamai_filters` gives. With `scope: :by_name` it
  runs only for tools whose `:filters` list it.

      iex> quiet = :beamai_filter.new("quiet", fn _call, _next -> {:ok, "nothing", %{}} end)
      iex> kernel = Beamai.new(tools: :todo) |> Beamai.add_filter(quiet)
      iex> Beamai.invoke!(kernel, :todo_list, [])
      "nothing"

  Raises `Beamai.OptionError`.
  """
  @spec add_filter(kernel, :beamai_filter.filter(), keyword) :: kernel
  def add_filter(kernel, filter, options \\ []) do
    explained(fn ->
      # Of a name and a function, the name is what is wrong.
      _ = :beamai_filter.name(filter)
      :beamai_kernel.add_filter(kernel, filter, Options.flat(options))
    end)
  end

  @doc "Names and descriptions of the tools, sorted by name."
  @spec list_tools(kernel) :: [%{name: String.t(), description: String.t()}]
  def list_tools(kernel), do: explained(fn -> :beamai_kernel.list_tools(kernel) end)

  @doc "The spec of a tool."
  @spec fetch_tool(kernel, String.t() | atom) :: {:ok, :beamai_tool.tool_spec()} | :error
  def fetch_tool(kernel, name), do: explained(fn -> :beamai_kernel.find_tool(kernel, text(name)) end)

  @doc "As `fetch_tool/2`; raises `KeyError` if the kernel has no such tool."
  @spec fetch_tool!(kernel, String.t() | atom) :: :beamai_tool.tool_spec()
  def fetch_tool!(kernel, name) do
    case fetch_tool(kernel, name) do
      {:ok, spec} -> spec
      :error -> raise KeyError, key: text(name), term: Enum.map(list_tools(kernel), & &1.name)
    end
  end

  @doc """
  The tools in a provider's format: `:openai`, `:openai_responses`, `:anthropic`, `:gemini` or `:mcp`.

      iex> [%{"type" => "function"} | _] = Beamai.schemas(Beamai.new(tools: :todo), :openai)
      iex> [%{"input_schema" => %{type: :object}} | _] = Beamai.schemas(Beamai.new(tools: :todo), :anthropic)

  With `strict: true` the provider's strict mode is requested.
  """
  @spec schemas(kernel, atom, keyword) :: [%{String.t() => term}]
  def schemas(kernel, provider, options \\ []) do
    explained(fn -> :beamai_kernel.get_tool_schemas(kernel, provider, Options.flat(options)) end)
  end

  @doc """
  Calls a tool.

  Arguments are a map with string keys, as a model sends it, or a keyword list. The context is a map or keyword list;
  the runtime reads `:run_id`, `:session_id`, `:workspace`, `:approve`, `:ask_user`, `:progress`, and all other keys
  are yours. If the calling process dies, the call and everything that it has started are stopped.

      iex> kernel = Beamai.new(tools: :file)
      iex> {:error, %Beamai.Error{error_type: :not_found}} = Beamai.invoke(kernel, "file_read", path: "no/such")
      iex> {:error, error} = Beamai.invoke(kernel, "file_raed", path: "mix.exs")
      iex> hd(error.details.nearest)
      "file_read"
  """
  @spec invoke(kernel, String.t() | atom, map | keyword, map | keyword) :: result
  def invoke(kernel, name, args, context \\ %{}) do
    answered(explained(fn -> :beamai_kernel.invoke(kernel, text(name), pairs(args), pairs(context)) end))
  end

  @doc """
  Calls a tool and returns only its result. Raises `Beamai.Error`, or the exception that a handler gave as
  `{:error, exception}`.

      iex> Beamai.invoke!(Beamai.new(tools: :file), :file_read, path: "rebar.lock")["content"]
      "[].\\n"

      iex> Beamai.invoke!(Beamai.new(), :file_read, path: "mix.exs")
      ** (Beamai.Error) there is no tool named "file_read"; this kernel has none
  """
  @spec invoke!(kernel, String.t() | atom, map | keyword, map | keyword) :: term
  def invoke!(kernel, name, args, context \\ %{}) do
    case invoke(kernel, name, args, context) do
      {:ok, result, _context} -> result
      {:error, error} when is_exception(error) -> raise error
      {:error, term} -> raise Error.of_handler(text(name), term)
    end
  end

  @doc """
  Calls several tools in parallel. Results are in call order; the returned context has the changes of all calls. Raises
  `Beamai.OptionError` before any call runs if one is not `{name, args}`.

      iex> kernel = Beamai.new(tools: :file)
      iex> {[{:ok, %{"total_lines" => 1}}, {:error, %Beamai.Error{}}], _context} =
      ...>   Beamai.invoke_all(kernel, [{"file_read", path: "rebar.lock"}, {"file_read", path: "no/such"}])
  """
  @spec invoke_all(kernel, [{String.t() | atom, map | keyword}], map | keyword) ::
          {[{:ok, term} | {:error, Error.t() | term}], :beamai_context.t()}
  def invoke_all(kernel, calls, context \\ %{}) do
    calls = if is_list(calls) and not List.improper?(calls), do: Enum.map(calls, &call/1), else: calls
    {results, context} = explained(fn -> :beamai_kernel.invoke_all(kernel, calls, pairs(context)) end)
    {Enum.map(results, &answered/1), context}
  end

  # Anything else is for the Erlang side to explain.
  defp call({name, args}), do: {text(name), pairs(args)}
  defp call(other), do: other

  @doc "Cancels every call on this node whose context has this `:run_id`."
  @spec cancel(term) :: :ok
  defdelegate cancel(run_id), to: :beamai_kernel

  @doc """
  The verdict on a call, the rule that decided (`:matched_rule`, `nil` if none did) and the reason in words (`:message`), without
  making the call.

      iex> Beamai.explain(Beamai.new(tools: :file), "file_write", path: "a", content: "").verdict
      :ask
  """
  @spec explain(kernel, String.t() | atom, map | keyword) ::
          %{verdict: :allow | :ask | :deny, matched_rule: String.t() | nil, message: String.t()} | {:error, Error.t()}
  def explain(kernel, name, args) do
    case explained(fn -> :beamai_permission.explain(kernel, text(name), pairs(args)) end) do
      %{matched_rule: :undefined} = explanation -> %{explanation | matched_rule: nil}
      other -> answered(other)
    end
  end

  @doc """
  A result, or a `Beamai.Error`, as text for a model: at most 30,000 characters; if it was cut, it says how to continue.

      iex> result = Beamai.invoke!(Beamai.new(tools: :file), :file_read, path: "rebar.lock")
      iex> Beamai.for_model("file_read", %{"path" => "rebar.lock"}, result)
      "[]."

  Results of your own tools are converted to JSON; see `Beamai.Result` for structs.

      iex> Beamai.for_model("own", %{}, since: ~D[2024-02-29], ids: MapSet.new([1]))
      ~s({"ids":[1],"since":"2024-02-29"})
  """
  @spec for_model(String.t() | atom, map | keyword, term) :: String.t()
  def for_model(name, args, result), do: :beamai_display.for_model(text(name), pairs(args), result)

  defp answered({:error, %{tool: _, error_type: _, message: _, details: _} = error}), do: {:error, struct(Error, error)}
  defp answered(answer), do: answer
end
