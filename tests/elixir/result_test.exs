defmodule Beamai.ResultTest do
  use ExUnit.Case, async: true

  defmodule Silent do
    defstruct [:name, :password]
  end

  defmodule Chosen do
    @derive {Beamai.Result, only: [:name, :since]}
    defstruct [:name, :password, :since]
  end

  defmodule Hiding do
    @derive {Beamai.Result, except: [:password]}
    defstruct [:name, :password]
  end

  defmodule Money do
    defstruct [:amount]

    defimpl String.Chars do
      def to_string(%{amount: amount}), do: "#{amount} €"
    end
  end

  # What the library of that name has, as far as it matters here: an implementation for structs that derive it, and
  # one for `Any` that raises.
  defprotocol Elixir.Jason.Encoder do
    @fallback_to_any true
    def encode(value, options)
  end

  defimpl Jason.Encoder, for: Any do
    def encode(value, _options), do: raise(Protocol.UndefinedError, protocol: Jason.Encoder, value: value)
  end

  defmodule Elixir.Jason do
    def encode!(value), do: Jason.Encoder.encode(value, [])
  end

  defmodule Derived do
    defstruct [:name, :password]

    defimpl Jason.Encoder do
      def encode(%{name: name}, _options), do: ~s({"name":"#{name}"})
    end
  end

  defp shown(result), do: Beamai.for_model("own", %{}, result)

  test "what Elixir returns is JSON" do
    assert shown(name: "a", list: [b: 1]) == ~s({"list":{"b":1},"name":"a"})
    assert shown(%{1 => :one, -2 => nil}) == ~s({"-2":null,"1":"one"})

    assert shown(%{at: ~U[2024-02-29 12:00:00Z], day: ~D[2024-02-29], time: ~T[01:02:03]}) ==
             ~s({"at":"2024-02-29T12:00:00Z","day":"2024-02-29","time":"01:02:03"})

    assert shown([MapSet.new([2, 1]), ~N[2024-02-29 12:00:00]]) == ~s([[1,2],"2024-02-29T12:00:00"])
    assert shown([%Money{amount: 3}, URI.parse("https://example.org/a")]) == ~s(["3 €","https://example.org/a"])
    assert shown([%RuntimeError{message: "oops"}]) == ~s(["oops"])
    assert shown([]) == "[]"
  end

  test "a map of which JSON would lose a value is refused" do
    for result <- [%{1 => "a", "1" => "b"}, [%{deep: %{:a => 1, "a" => 2}}]] do
      assert shown(result) =~ "own returned what a model cannot be given: a map in it has two keys that are "
    end

    kernel = Beamai.new(tools: %{name: "own", parameters: %{"a" => %{type: :integer}}, handler: fn _ -> {:ok, 1} end})
    assert {:error, %{message: ~s("1" is given twice) <> _}} = Beamai.invoke(kernel, :own, %{1 => "a", "1" => "b"})
    assert {:error, %{message: message}} = Beamai.invoke(kernel, :own, a: 1, a: 2)
    assert message == "the arguments must be a map or a keyword list without duplicate keys, not [a: 1, a: 2]"
  end

  test "a struct shows what it derives, also within others" do
    secret = "hunter2"
    assert shown(%Chosen{name: "a", password: secret, since: ~D[2024-02-29]}) == ~s({"name":"a","since":"2024-02-29"})
    assert shown(users: [%Hiding{name: "b", password: secret}]) == ~s({"users":[{"name":"b"}]})
    assert shown(%{user: %Derived{name: "c", password: secret}}) == ~s({"user":{"name":"c"}})
  end

  test "a struct that derives nothing is refused, with all that is in it" do
    text = shown([%{user: %Silent{name: "a", password: "hunter2"}}])
    assert text =~ "the struct %Beamai.ResultTest.Silent{} does not say which of its fields a model may see"
    assert text =~ "@derive {Beamai.Result"
    refute text =~ "hunter2"
  end

  test "an error that a handler gives is shown like a result" do
    for {reason, told} <- [
          {%{code: 1, at: ~D[2024-02-29]}, ~s(error: {"at":"2024-02-29","code":1})},
          {[field: "is missing"], ~s(error: {"field":"is missing"})},
          {~D[2024-02-29], "error: 2024-02-29"},
          {%{cause: %RuntimeError{message: "oops"}}, ~s(error: {"cause":"oops"})},
          {{:bad, %RuntimeError{message: "oops"}}, ~s(error: {:bad, "oops"})},
          {:enoent, "error: :enoent"},
          {~c"text", "error: #{inspect(~c"text")}"},
          {%Silent{password: "hunter2"}, "error: the struct %Beamai.ResultTest.Silent{} does not say which"},
          {{:bad, [%Silent{password: "hunter2"}]}, "error: the struct %Beamai.ResultTest.Silent{} does not say which"}
        ] do
      shown = :beamai_display.error_for_model(reason)
      assert shown =~ told
      refute shown =~ "hunter2"
      refute :beamai_display.of_error("own", %{}, reason).text =~ "hunter2"
    end

    text = shown({:bad, %Silent{password: "hunter2"}})
    assert text =~ "the struct %Beamai.ResultTest.Silent{} does not say which"
    refute text =~ "hunter2"
    assert shown(a: 1, a: %RuntimeError{message: "oops"}) =~ ~s(neither text nor JSON: [a: 1, a: "oops"])
  end

  test "an agent's model and a person are shown the same" do
    turns = [%{tool_calls: [{"user", %{}}]}, %{content: "done"}]
    tool = fn result -> %{name: "user", handler: fn _args -> {:ok, result} end} end

    for {result, told} <- [{%Chosen{name: "a"}, ~s({"name":"a","since":null})}, {%Silent{password: "hunter2"}, "does not say"}] do
      {:ok, agent} =
        :beamai_agent.new(%{llm: :beamai_chat.new(:scripted, %{turns: turns}), kernel: Beamai.new(tools: tool.(result))})

      {:ok, _answer, agent} = :beamai_agent.run(agent, "Who?")
      %{messages: messages} = :beamai_agent.conversation(agent)
      assert [%{content: content}] = Enum.filter(messages, &(&1.role == :tool))
      assert content =~ told
    end

    assert %{summary: "user: 2024-02-29"} = :beamai_display.of_result("user", %{}, ~D[2024-02-29])
  end

  test "fields that are not there do not compile" do
    for options <- ["only: [:nme]", "except: [:nme]", "onyl: [:name]"] do
      assert_raise ArgumentError, fn ->
        Code.eval_string(
          "defmodule W#{System.unique_integer([:positive])} do @derive {Beamai.Result, #{options}}; defstruct [:name] end"
        )
      end
    end
  end
end
