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

    test "show no values of lists and maps" do
      for options <- [[{"api_key", "s3cret"}], [tools: %{api_key: "s3cret"}], [web: [search: [{"api_key", "s3cret"}]]]] do
        error = assert_raise Beamai.OptionError, fn -> Beamai.new(options) end
        refute inspect(error) =~ "s3cret"
      end
    end

    test "name the option and what it takes, as Elixir writes it" do
      for {options, message} <- [
            {[tools: [:fil]], "tools: :fil: cannot be loaded: there is no such module; tools are families (:file, :shell,"},
            {[tools: "file"], ~s(tools: "file" is not a tool; tools are families (:file, :shell,)},
            {[permissions: {:fil, "x"}],
             "must be a keyword list or map of allow, ask, deny and default, or {:file, path}, not {:fil,"},
            {[permissions: [default: "allow"]], ~s(default must be :auto, :allow, :ask or :deny, not "allow")},
            {[permissions: %{"allow" => []}],
             ~s(permissions: the policy has the unknown key "allow", because it is a string; write the atom :allow)},
            {%{"workspace" => "."}, ~s("workspace" is not an option: the names of options are atoms, here :workspace)},
            {%{"tools" => :file}, ~s("tools" is not an option: the names of options are atoms, here :tools)},
            {[sandbox: "off"], ~s(sandbox: must be :required, :best_effort, :off or a keyword list of options, not "off")},
            {[sandbox: %{"network" => true}],
             ~s(sandbox: "network" is not an option, because it is a string; write the atom :network)},
            {[sandbox: [report: true]], "sandbox: report must be :when_off or :always, not true"},
            {[web: [nope: 1]], "web: the kernel's settings are not valid: web.nope is not a setting; accepted: allow_addresses,"},
            {[door: "nif"], ~s(door: must be :auto, :nif or :port, not "nif")},
            {[approve: :allow], "approve: must be a function of one argument, not :allow"},
            {[agents: %{"a" => [profile: :x]}], ~s(agents: "a": profile must be :default or :plan, not :x)},
            {[agents: [reviewer: []]],
             "agents: :reviewer: the name of an agent must be a string; the options are paths and max_depth"}
          ] do
        error = assert_raise Beamai.OptionError, fn -> Beamai.new(options) end
        assert Exception.message(error) =~ message
      end
    end

    test "of models and agents are explained, too" do
      for {fun, message} <- [
            {fn -> Beamai.Agent.model(:opnai, []) end, "the provider must be :openai, :anthropic,"},
            {fn -> Beamai.Agent.model(:openai, 7) end, "the options are a keyword list or a map, not 7"},
            {fn -> Beamai.Agent.new(llm: 7) end, "llm: must be a model made with Beamai.Agent.model"},
            {fn -> Beamai.schemas(Beamai.new(), :openai, :strict) end, "the options are a keyword list or a map, not :strict"},
            {fn -> Beamai.invoke(7, :file_read, []) end, "a kernel is what Beamai.new gives, not 7"}
          ] do
        assert_raise Beamai.OptionError, ~r/#{Regex.escape(message)}/, fun
      end
    end

    test "of filters name the constructor" do
      kernel = Beamai.new()
      next = fn call, next -> next.(call) end
      filter = :beamai_filter.new("a", next)

      for {arguments, message} <- [
            {[next], "as :beamai_filter.new(name, fun) gives it, not #Function"},
            {["a", next], ~s(as :beamai_filter.new(name, fun\) gives it, not "a")},
            {[filter, :global], "the options are a keyword list or a map, not :global"},
            {[filter, [scope: "global"]], ~s(scope: must be :global or :by_name, not "global")}
          ] do
        error = assert_raise Beamai.OptionError, fn -> apply(Beamai, :add_filter, [kernel | arguments]) end
        assert Exception.message(error) =~ message
      end

      assert_raise Beamai.OptionError, "there is a filter \"a\" already", fn ->
        kernel |> Beamai.add_filter(filter) |> Beamai.add_filter(filter)
      end
    end

    # Those of Erlang are rescued under the name of ErlangError.
    test "are not what other errors become" do
      assert_raise FunctionClauseError, fn -> Beamai.Options.explained(fn -> Keyword.pop(Process.get(:none), :a) end) end
    end

    test "of the Erlang API raise the same exception" do
      kernel = Beamai.new()

      for {fun, message} <- [
            {fn -> :beamai_filters.cache(%{}) end, "tools: is missing: a list of names of tools that only read"},
            {fn -> :beamai_filters.rate_limit(%{calls: 0, per: 1}) end, "calls: must be an integer above 0, not 0"},
            {fn -> :beamai_filters.redact(%{patterns: ["("]}) end,
             ~s(patterns: "(" is not a regular expression: missing \) at position 1)},
            {fn -> :beamai_mcp.connect(%{name: "x"}) end, "command: is missing: the program of the server, or url, its address"},
            {fn -> :beamai_trace.start_link(%{max: 0}) end, "max: must be an integer above 0, not 0"},
            {fn -> :beamai_inspector.start_link(%{}) end, "trace: is missing: the process that :beamai_trace.start_link/1 gave"},
            {fn -> :beamai_kernel.place(kernel, :foo, node()) end,
             "what is placed is {:tool, name}, {:tag, tag}, {:session, id} or :all, not :foo"},
            {fn -> :beamai_context.get(%{}, :a) end, "the context is the last argument: :beamai_context.get(key, context)"},
            {fn -> :beamai_chat.complete(7, "Hello") end, "a model is what Beamai.Agent.model gives, not 7"}
          ] do
        error = assert_raise Beamai.OptionError, fun
        assert Exception.message(error) == message
      end
    end

    test "of tools name the tool" do
      assert_raise Beamai.OptionError, ~r/the tool "a" is not valid: handler must be a function/, fn ->
        Beamai.new(tools: %{name: "a", handler: 7})
      end

      assert_raise Beamai.OptionError, ~r/there is a tool "file_edit" already/, fn -> Beamai.new(tools: [:file, :file]) end
      assert_raise Beamai.OptionError, ~r/NoSuchModule: cannot be loaded/, fn -> Beamai.new(tools: NoSuchModule) end
    end
  end

  test "what the host can configure is written in Elixir's syntax" do
    for {erlang, elixir} <- [
          {~S|Allow it with web => #{allow_addresses => [<<"127.0.0.1:80">>]}|,
           ~S|Allow it with web: %{allow_addresses: ["127.0.0.1:80"]}|},
          {~S|Name one: web => #{search => #{provider => searxng, base_url => <<"http://a">>}}, or provider brave|,
           ~S|Name one: web: %{search: %{provider: :searxng, base_url: "http://a"}}, or provider brave|},
          {~S|permissions => #{allow => [<<"Bash(echo \"a\")"/utf8>>, <<"Read(x)"/utf8>>]}|,
           ~S|permissions: %{allow: ["Bash(echo \"a\")", "Read(x)"]}|},
          {"sandbox => best_effort", "sandbox: :best_effort"},
          {"sandbox => \#{network => true, without => [private_proc]}", "sandbox: %{network: true, without: [:private_proc]}"},
          {~S|lsp => #{servers => #{python => #{command => [<<"PROGRAM">>]}}}|,
           ~S|lsp: %{servers: %{python: %{command: ["PROGRAM"]}}}|}
        ] do
      assert :beamai_syntax.options(erlang) == elixir
    end

    {:error, error} = Beamai.invoke(Beamai.new(tools: :web), :web_search, [query: "x"], %{approve: fn _ -> :allow end})
    assert error.message =~ "Name one: web: %{search: %{provider: :searxng,"
    refute Beamai.for_model(:web_search, %{}, error) =~ "searxng"
  end

  test "rules and callbacks are taken from keyword lists" do
    own = self()
    approve = fn request -> send(own, {:asked, request.tool}) && :deny end
    kernel = Beamai.new(tools: :shell, permissions: [deny: ["Bash(git push:*)"], allow: []], approve: approve)
    assert {:error, %Beamai.Error{error_type: :permission_denied}} = Beamai.invoke(kernel, :shell_exec, command: "ls")
    assert_received {:asked, "shell_exec"}
    assert %{verdict: :deny} = Beamai.explain(kernel, :shell_exec, command: "git push origin")
    assert %{verdict: :ask, matched_rule: nil, message: _} = Beamai.explain(kernel, :shell_exec, command: "rm x")
  end

  test "a refusal says in Elixir how to allow the call" do
    error = catch_error(Beamai.invoke!(Beamai.new(tools: :shell), :shell_exec, command: "ls"))
    assert error.message =~ ~s(permissions: %{allow: ["Bash\(ls)
  end

  test "a call that is none is named, and nothing runs" do
    own = self()
    kernel = Beamai.new(tools: %{name: "tell", handler: fn _ -> {:ok, send(own, :told)} end})

    for call <- [:x, {:tell, [], []}, "tell", nil] do
      message = "a call is {name, args}, not #{inspect(call)}"
      assert_raise Beamai.OptionError, message, fn -> Beamai.invoke_all(kernel, [{:tell, []}, call]) end
    end

    assert_raise Beamai.OptionError, ~r/a list of calls/, fn -> Beamai.invoke_all(kernel, :tell) end
    assert_raise Beamai.OptionError, ~r/a list of calls/, fn -> Beamai.invoke_all(kernel, [{:tell, []} | :x]) end
    refute_received :told
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
