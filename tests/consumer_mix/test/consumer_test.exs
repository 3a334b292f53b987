defmodule ConsumerTest do
  use ExUnit.Case

  test "a native tool reads a file" do
    assert {:ok, %{"content" => text}, _} = :beamai_kernel.invoke(Consumer.kernel(), "file_read", %{"path" => "mix.exs"})

    assert text =~ "defmodule"
  end

  test "a tool written in Elixir runs, and nil stands for an absent argument" do
    assert {:ok, "hello Joe", _} = :beamai_kernel.invoke(Consumer.kernel(), "greet", %{"name" => "Joe", "title" => nil})
  end

  test "the shell's help has the docs of the modules" do
    assert {:docs_v1, _, :erlang, _, %{"en" => _}, _, _} = Code.fetch_docs(:beamai_kernel)
  end

  @tag :elixir
  test "the module Beamai has the tools" do
    kernel = Beamai.new(tools: [:file, Consumer.Tools])
    assert Beamai.invoke!(kernel, :file_read, path: "mix.exs")["content"] =~ "defmodule"
    assert Beamai.invoke!(kernel, :shout, text: "hello") == "HELLO"
    assert_raise Beamai.OptionError, ~r/workspac: is not an option/, fn -> Beamai.new(workspac: ".") end
    assert {:docs_v1, _, :elixir, _, %{"en" => _}, _, _} = Code.fetch_docs(Beamai)
  end

  test "an error says what was wrong" do
    assert {:error, %{error_type: :not_found, message: message}} =
             :beamai_kernel.invoke(Consumer.kernel(), "file_read", %{"path" => "missing.txt"})

    assert message =~ "missing.txt"
  end
end
