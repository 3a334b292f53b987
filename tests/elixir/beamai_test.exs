defmodule BeamaiTest do
  use ExUnit.Case, async: true

  doctest Beamai
  doctest Beamai.Result

  describe "bad options" do
    test "are explained in the caller's syntax" do
      error = assert_raise Beamai.OptionError, fn -> Beamai.new(skills: [{:a, 1, 2}]) end
      assert error.reason == {:bad_option, :skills}
      assert Exception.message(error) == "skills: must be %{paths: [directory]}, not [{:a, 1, 2}]"
    end

    test "of the Erlang API are explained where a stack trace is printed" do
      message =
        try do
          :beamai_kernel.new(%{workspac: "."})
        catch
          :error, reason -> Exception.format_banner(:error, reason, __STACKTRACE__)
        end

      assert message =~ "is not an option; the options are workspace, permissions"
    end

    test "are found in nested keyword lists" do
      assert_raise Beamai.OptionError, ~r/sandbox/, fn -> Beamai.new(sandbox: [network: 7]) end
      assert_raise Beamai.OptionError, ~r/a keyword list or a map/, fn -> Beamai.new([1]) end
    end

    test "of tools name the tool" do
      assert_raise Beamai.OptionError, ~r/the tool "a" is not valid: handler must be a function/, fn ->
        Beamai.new(tools: %{name: "a", handler: 7})
      end

      assert_raise Beamai.OptionError, ~r/there is a tool "file_edit" already/, fn -> Beamai.new(tools: [:file, :file]) end
      assert_raise Beamai.OptionError, ~r/NoSuchModule: cannot be loaded/, fn -> Beamai.new(tools: NoSuchModule) end
    end
  end

  test "rules and callbacks are taken from keyword lists" do
    own = self()
    approve = fn request -> send(own, {:asked, request.tool}) && :deny end
    kernel = Beamai.new(tools: :shell, permissions: [deny: ["Bash(git push:*)"], allow: []], approve: approve)
    assert {:error, %Beamai.Error{error_type: :permission_denied}} = Beamai.invoke(kernel, :shell_exec, command: "ls")
    assert_received {:asked, "shell_exec"}
    assert %{verdict: :deny} = Beamai.explain(kernel, :shell_exec, command: "git push origin")
  end

  test "a refusal says in Elixir how to allow the call" do
    error = catch_error(Beamai.invoke!(Beamai.new(tools: :shell), :shell_exec, command: "ls"))
    assert error.message =~ ~s(permissions: %{allow: ["Bash\(ls)
  end

  test "an error is a term of the Erlang API still" do
    {:error, error} = Beamai.invoke(Beamai.new(tools: :file), :file_read, path: "no/such")
    assert :beamai_display.error_for_model(error) == Beamai.for_model(:file_read, [], error)
    assert %{summary: "file_read no/such: not_found: " <> _} = :beamai_display.of_error("file_read", %{path: "no/such"}, error)
  end

  test "a kernel is found in the error of what takes none" do
    assert_raise Beamai.OptionError, ~r/a kernel is what/, fn -> Beamai.list_tools(%{}) end
    assert_raise KeyError, fn -> Beamai.fetch_tool!(Beamai.new(), :nothing) end
  end
end
