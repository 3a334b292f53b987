defmodule Beamai.ExceptionTest do
  # A setting of the application is changed.
  use ExUnit.Case

  defmodule Secret do
    defexception [:password]
    def message(_), do: "not allowed"
  end

  defmodule Tools do
    use Beamai.Tool

    deftool own(%{"how" => how}) do
      {:ok, fail(how, Process.get(:nothing, "hunter2"))}
    end

    # The compiler does not know what `value` is.
    def fail("badarg", value), do: String.to_integer(value)
    def fail("undef", value), do: apply(NoSuchModule, :f, [value])
    def fail("badmatch", value), do: {:ok, _} = String.length(value)
    def fail("badkey", value), do: Map.fetch!(%{password: value}, :name)
    def fail("function_clause", value), do: only(value)

    def fail("case_clause", value),
      do:
        (case(String.length(value)) do
           1 -> 1
         end)

    def fail("with_clause", value),
      do:
        (with(1 <- String.length(value)) do
           1
         else
           2 -> 2
         end)

    def fail("cond_clause", value), do: cond(do: (value == 1 -> 1))
    def fail("badarith", value), do: 1 + value
    def fail("badfun", value), do: String.length(value).()
    def fail("badarity", value), do: if(is_binary(value), do: fn -> 1 end).(1)
    def fail("binary", value), do: "a" <> Function.identity(%{password: value})
    def fail("badmap", value), do: %{String.length(value) | a: 1}
    def fail("apply", value), do: value.size()
    def fail("own term", _value), do: :erlang.error({:own, 1})
    def fail("exit", _value), do: exit(:own)
    def fail("throw", _value), do: throw(:own)
    def fail("exit with an exception", value), do: exit({:shutdown, %Beamai.ExceptionTest.Secret{password: value}})
    def fail("bytes", _value), do: raise(<<"caf", 233>>)
    def fail("call", value), do: GenServer.call(:no_such_server, String.length(value))
    def fail("task", _value), do: Task.await(Task.async(fn -> raise "in a task" end))
    def fail("long", value), do: 1 = String.duplicate(value, 1000)

    defp only(:this), do: 1
  end

  defp told(how) do
    {:error, error} = Beamai.invoke(Beamai.new(tools: Tools), :own, %{"how" => how})
    error.message
  end

  @tag :capture_log
  test "an error of the runtime reaches the model as Elixir words it, without what a function was given" do
    for {how, said} <- [
          {"badarg",
           "raised ArgumentError: errors were found at the given arguments:\n\n  * 1st argument: not a textual representation"},
          {"undef",
           "raised UndefinedFunctionError: function NoSuchModule.f/1 is undefined (module NoSuchModule is not available)"},
          {"badmatch", "raised MatchError: no match of right hand side value: 7"},
          {"badkey", "raised KeyError: key :name not found"},
          {"function_clause", "raised FunctionClauseError: no function clause matching in Beamai.ExceptionTest.Tools.only/1"},
          {"case_clause", "raised CaseClauseError: no case clause matching: 7"},
          {"with_clause", "raised WithClauseError: no with clause matching: 7"},
          {"cond_clause", "raised CondClauseError: no cond clause evaluated to a truthy value"},
          {"badarith", "raised ArithmeticError: bad argument in arithmetic expression"},
          {"badfun", "raised BadFunctionError: expected a function, got: 7"},
          {"badarity", "with arity 0 called with 1 argument (1)"},
          {"binary",
           "raised ArgumentError: construction of binary failed: segment 2 of type 'binary': expected a binary but got: :map"},
          {"badmap", "raised BadMapError: expected a map, got: 7"},
          {"apply", "raised ArgumentError: "},
          {"own term", "raised ErlangError: Erlang error: {:own, 1}"},
          {"exit", "raised exit: :own"},
          {"throw", "raised throw: :own"},
          {"exit with an exception", "raised exit: shutdown: Beamai.ExceptionTest.Secret: not allowed"},
          {"bytes", "raised RuntimeError: café"},
          {"call", "raised exit: exited in: GenServer.call(:no_such_server, 7, 5000): no process: "},
          {"task", "ended before the handler returned: RuntimeError: in a task"}
        ] do
      message = told(how)
      assert message =~ said
      refute message =~ "hunter2"
    end

    assert String.length(told("long")) < 400
  end

  @tag :capture_log
  # What rebar3 builds shows terms in the syntax of Erlang.
  test "Elixir is recognised by the module that raised" do
    Application.put_env(:beamai, :syntax, :erlang)

    on_exit(fn -> Application.put_env(:beamai, :syntax, :elixir) end)
    described = fn code, stack -> IO.chardata_to_string(:beamai_exception.describe(:error, {:badmatch, 7}, stack, code)) end

    assert described.(:none, []) == "badmatch: no match of right hand side value 7"

    for {code, stack} <- [{{Tools, :own}, []}, {&Tools.own/2, []}, {:none, [{:lists, :map, 2, []}, {Tools, :own, 2, []}]}] do
      assert described.(code, stack) == "MatchError: no match of right hand side value: 7"
    end

    assert told("undef") =~ "UndefinedFunctionError: function NoSuchModule.f/1 is undefined"
  end

  test "filters, callbacks and logs have the message of an exception and not its fields" do
    kernel = Beamai.new(tools: :todo, approve: fn _ -> raise %Secret{password: "hunter2"} end, permissions: [default: :ask])
    {:error, denied} = Beamai.invoke(kernel, :todo_list, [])
    assert denied.message =~ "the approve callback raised Beamai.ExceptionTest.Secret: not allowed"

    raises = fn _call, _next -> raise %Secret{password: "hunter2"} end
    kernel = Beamai.add_filter(Beamai.new(tools: :todo), :beamai_filter.new("f", raises))

    log =
      ExUnit.CaptureLog.capture_log(fn ->
        {:error, error} = Beamai.invoke(kernel, :todo_list, [])
        assert error.message == ~s(filter "f" raised Beamai.ExceptionTest.Secret: not allowed)
        :beamai_callback.progress(%{}, %{progress: fn _ -> raise %Secret{password: "hunter2"} end})
      end)

    assert log =~ ~s(filter "f" raised Beamai.ExceptionTest.Secret: not allowed)
    assert log =~ "the progress callback raised Beamai.ExceptionTest.Secret: not allowed"
    refute log =~ "hunter2"
  end
end
