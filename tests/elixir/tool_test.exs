defmodule Beamai.ToolTest do
  use ExUnit.Case, async: true

  defmodule Tools do
    use Beamai.Tool, tags: ["example"], description: "Tools of this test."

    @doc "Adds two integers."
    deftool add(%{"a" => a, "b" => b}),
      parameters: [a: {:integer, required: true, minimum: 0}, b: {:integer, default: 1}],
      read_only: true do
      {:ok, %{sum: a + b}}
    end

    deftool mark(%{"points" => points}, context),
      description: "Marks points.",
      tags: ["own"],
      parameters: [points: {:array, items: {:object, properties: [x: :float, label: {:string, required: true}]}}],
      timeout: 500,
      retry: [max: 2],
      requires_permission: true do
      {:ok, length(points), Map.put(context, :marked, points)}
    end

    deftool break(_args) do
      raise ArgumentError, "the disk is full"
    end

    deftool give(_args), description: "An exception as a reason." do
      {:error, %RuntimeError{message: "no luck"}}
    end
  end

  test "the specs are those of the definitions" do
    assert [add, mark, break, give] = Tools.tools()
    assert %{name: "add", description: "Adds two integers.", metadata: %{read_only: true}, handler: {Tools, :add}} = add
    assert add.parameters == %{"a" => %{type: :integer, required: true, minimum: 0}, "b" => %{type: :integer, default: 1}}
    assert %{tag: ["own"], timeout: 500, retry: %{max: 2}, metadata: %{requires_permission: true}} = mark
    assert %{type: :array, items: %{type: :object, properties: %{"x" => %{type: :float}}}} = mark.parameters["points"]
    refute Map.has_key?(break, :description)
    assert give.description == "An exception as a reason."
    assert Tools.tool_info() == %{tags: ["example"], description: "Tools of this test."}
  end

  test "tools run in a kernel, and as functions" do
    kernel = Beamai.new(tools: Tools, permissions: [allow: ["mark"]])
    assert Beamai.invoke!(kernel, :add, a: 2) == %{sum: 3}
    assert {:ok, 1, %{marked: [_], own: 1}} = Beamai.invoke(kernel, :mark, [points: [%{"label" => "a"}]], own: 1)
    assert Tools.add(%{"a" => 1, "b" => 2}, %{}) == {:ok, %{sum: 3}}
    assert [%{name: "add"}, _, _] = :beamai_kernel.tools_by_tag(kernel, "example")
  end

  test "arguments are refused in words" do
    {:error, error} = Beamai.invoke(Beamai.new(tools: Tools), :add, a: {1, 2})
    assert error.message =~ ~s("a" must be integer, not {1, 2})
  end

  @tag :capture_log
  test "an exception is an error with its message" do
    kernel = Beamai.new(tools: Tools)
    assert {:error, %Beamai.Error{error_type: :execution_failed} = error} = Beamai.invoke(kernel, :break, %{})
    assert error.message == "the handler of break raised ArgumentError: the disk is full"
    assert {:error, %RuntimeError{message: "no luck"} = reason} = Beamai.invoke(kernel, :give, %{})
    assert Beamai.for_model(:give, %{}, %Beamai.Error{tool: "give", error_type: :execution_failed, message: "x"}) =~ "x"
    assert :beamai_display.error_for_model(reason) =~ "no luck"
    assert_raise RuntimeError, "no luck", fn -> Beamai.invoke!(kernel, :give, %{}) end
  end

  test "a mistake in a definition does not compile" do
    for {options, message} <- [
          {"parameter: []", ~r/deftool has no option :parameter; the options are :parameters/},
          {"parameters: [a: :strin]", ~r/the tool "t" is not valid: .*must be :string, :integer/},
          {"timeout: 0", ~r/timeout must be/}
        ] do
      code =
        "defmodule T#{System.unique_integer([:positive])} do use Beamai.Tool; deftool t(_args), #{options} do {:ok, 1} end end"

      assert_raise(exception(message), message, fn -> Code.eval_string(code) end)
    end
  end

  test "a mistake in a head does not compile, and is found by its line" do
    for {body, message} <- [
          {"deftool t(_a, _b, _c) do {:ok, 1} end", "deftool takes name(args) or name(args, context), not t(_a, _b, _c)"},
          {"deftool there?(_a) do {:ok, 1} end", "the name of the tool there? ends in a character"},
          {"deftool drop!(_a, _c) when true do {:ok, 1} end", "the name of the tool drop! ends in a character"},
          {"deftool t(_a), timeout: 5", "the tool t has no do block"},
          {"deftool t(_a), @options", "the tool t has no do block"},
          {"deftool u(%{\"a\" => _}) do {:ok, 1} end\ndeftool u(_a) do {:ok, 2} end", "the tool u is defined already"}
        ] do
      code = "defmodule H#{System.unique_integer([:positive])} do\nuse Beamai.Tool\n#{body}\nend"
      error = assert_raise CompileError, fn -> Code.eval_string(code, [], file: "heads.ex") end
      assert Exception.message(error) =~ "heads.ex:#{if body =~ "u(_a)", do: 4, else: 3}: " <> message
    end
  end

  test "a head can have a guard, and a body all that a function's has" do
    Code.eval_string("""
    defmodule Beamai.ToolTest.Heads do
      use Beamai.Tool
      deftool even(%{"n" => n}) when rem(n, 2) == 0, parameters: [n: :integer] do
        {:ok, n}
      end
      deftool short(_args), timeout: 5, do: {:ok, 1}
      deftool rescued(_args) do
        raise "no"
      rescue
        _ -> {:ok, :rescued}
      after
        :ok
      end
    end
    """)

    kernel = Beamai.new(tools: Beamai.ToolTest.Heads)
    assert Beamai.invoke!(kernel, :even, n: 2) == 2
    assert {:ok, %{timeout: 5}} = Beamai.fetch_tool(kernel, :short)
    assert Beamai.invoke!(kernel, :rescued, []) == :rescued
  end

  defp exception(message),
    do:
      if(Regex.match?(message, "deftool has no option :parameter; the options are :parameters"),
        do: ArgumentError,
        else: Beamai.OptionError
      )
end
