# The adapters in docs/frameworks, as they stand there, against stubs of what the packages publish. The packages themselves
# are not dependencies.
defmodule LangChain.Function do
  defstruct [:name, :description, :parameters_schema, :function, async: false, options: []]

  def new!(attrs) do
    function = struct!(__MODULE__, attrs)
    true = is_binary(function.name) and is_map(function.parameters_schema) and is_function(function.function, 2)
    function
  end
end

defmodule ReqLLM.Tool do
  defstruct [:name, :description, :callback, parameter_schema: [], strict: false]

  def new(options) do
    tool = struct!(__MODULE__, options)
    true = is_binary(tool.description) and is_function(tool.callback, 1)
    # A map is a JSON Schema; a list would be options for NimbleOptions.
    %{"type" => "object"} = tool.parameter_schema
    {:ok, tool}
  end

  def execute(tool, args), do: tool.callback.(args)
end

defmodule Jido.Action do
  @callback run(params :: map, context :: map) :: {:ok, map} | {:ok, map, term} | {:error, term}

  defmacro __using__(options) do
    quote bind_quoted: [options: options] do
      @behaviour Jido.Action
      def name, do: unquote(options[:name])
      def description, do: unquote(options[:description])
      def schema, do: unquote(Macro.escape(options[:schema]))
    end
  end
end

defmodule Ash.Resource.Actions.Implementation do
  @callback run(input :: map, options :: keyword, context :: map) :: :ok | {:ok, term} | {:error, term}
end

defmodule Beamai.FrameworksTest do
  use ExUnit.Case, async: true

  for name <- ["langchain", "req_llm", "jido", "ash_ai"] do
    path = Path.join(__DIR__, "../../docs/frameworks/#{name}.md")

    for [block] <- Regex.scan(~r/^```elixir\n(.*?)^```/ms, File.read!(path), capture: :all_but_first) do
      true = length(String.split(block, "\n")) <= 100
      Code.compile_string(block, path)
    end
  end

  @adapters [MyApp.LangChainTools, MyApp.ReqLLMTools, MyApp.Actions.Grep, MyApp.BeamaiActionImpl]
  @compile {:no_warn_undefined, @adapters}

  def kernel, do: Beamai.new(workspace: Path.join(__DIR__, "../.."), tools: [:file])

  test "LangChain's functions call tools" do
    functions = MyApp.LangChainTools.functions(kernel())
    assert %{function: read} = grep = Enum.find(functions, &(&1.name == "file_read"))
    assert %{type: :object, required: ["path"]} = grep.parameters_schema
    assert {:ok, "[].", %{"total_lines" => 1}} = read.(%{"path" => "rebar.lock"}, nil)
    assert {:error, text} = read.(%{"path" => "no/such"}, %{session_id: "s", other: self()})
    assert text =~ "no/such"
  end

  test "ReqLLM's tools call tools" do
    read = Enum.find(MyApp.ReqLLMTools.tools(kernel(), session_id: "s"), &(&1.name == "file_read"))
    assert %{"properties" => %{"path" => %{"type" => "string"}}} = read.parameter_schema
    assert {:ok, "[]."} = ReqLLM.Tool.execute(read, %{path: "rebar.lock"})
    assert {:error, text} = ReqLLM.Tool.execute(read, %{"pth" => "rebar.lock"})
    assert text =~ "pth"
  end

  test "an action of Jido is a tool" do
    assert MyApp.Actions.Grep.name() == "file_grep"
    assert %{"properties" => %{"pattern" => %{"type" => "string"}}} = MyApp.Actions.Grep.schema()
    context = %{kernel: kernel(), session_id: "s"}
    assert {:ok, %{"total_matches" => 1}} = MyApp.Actions.Grep.run(%{pattern: "app: :beamai", path: "mix.exs"}, context)
    assert {:error, %Beamai.Error{error_type: :invalid_input}} = MyApp.Actions.Grep.run(%{pattern: "("}, context)
  end

  test "an action of Ash calls a tool" do
    input = %{arguments: %{path: "rebar.lock", limit: nil}}
    options = [tool: "file_read", kernel: {__MODULE__, :kernel}]
    assert MyApp.BeamaiActionImpl.run(input, options, %{}) == {:ok, "[]."}
    assert {:error, text} = MyApp.BeamaiActionImpl.run(%{arguments: %{path: "no/such"}}, options, %{})
    assert text =~ "no/such"
  end
end
