defmodule Beamai.AgentTest do
  use ExUnit.Case, async: true

  doctest Beamai.Agent

  alias Beamai.Agent

  defp scripted(turns), do: Agent.model(:scripted, turns: turns)

  test "a run takes its options as keyword lists and goes on with the conversation" do
    llm = scripted(["One.", fn %{messages: messages} -> "#{length(messages)} messages" end])
    agent = Agent.new(llm: llm, budget: [max_tokens: 10_000], agents: %{"scout" => [prompt: "Look.", llm: scripted(["x"])]})
    assert {:ok, %{content: "One."}, agent} = Agent.run(agent, "Hello", budget: [max_time: 60_000])
    assert Agent.run!(agent, "Again") =~ "messages"
  end

  test "a failure is explained" do
    agent = Agent.new(llm: scripted([%{tool_calls: [{"todo_list", %{}}]}]), tools: :todo)
    assert_raise RuntimeError, ~r/had not finished after 1 answer,/, fn -> Agent.run!(agent, "Go", max_iterations: 1) end
  end

  test "bad options are named" do
    assert_raise Beamai.OptionError, ~r/max_iterations/, fn -> Agent.new(llm: scripted(["x"]), max_iterations: 0) end
    assert_raise Beamai.OptionError, ~r/evnts/, fn -> Agent.run(Agent.new(llm: scripted(["x"])), "Hi", evnts: self()) end
  end

  test "options that are not maps in Erlang are what Elixir has for them" do
    llm = scripted(["x"])
    path = Path.join(System.tmp_dir!(), "beamai-prompt-#{System.unique_integer([:positive])}")
    File.write!(path, "Be brief.")
    on_exit(fn -> File.rm(path) end)
    assert %{system_prompt: "Be brief."} = Agent.new(llm: llm, system_prompt: [file: path])
    assert %{system_prompt: "Hello.\n\nBe brief."} = Agent.new(llm: llm, system_prompt: ["Hello.", {:file, path}])
    assert %{store: {:beamai_store_file, %{dir: "d"}}} = Agent.new(llm: llm, agent_id: "a", store: {:beamai_store_file, dir: "d"})
    assert_raise Beamai.OptionError, ~r/an agent is what Beamai.Agent.new gives, not 7/, fn -> Agent.run(7, "Hello") end

    assert_raise Beamai.OptionError, ~r/budget: :max_token is not an option/, fn ->
      Agent.new(llm: llm, budget: [max_token: 1])
    end

    assert %{budget: budget} = Agent.new(llm: llm, budget: [])
    assert budget == %{}
  end

  test "a stream gives the events in order and passes them on" do
    agent = Agent.new(llm: scripted([%{tool_calls: [{"todo_list", %{}}]}, "Done."]), tools: :todo)
    events = agent |> Agent.stream("Go", events: self()) |> Enum.to_list()
    names = for event <- events, is_tuple(event), do: elem(event, 0)
    assert [:started | _] = names
    assert [:ended, :ok] = Enum.take(names, -2)
    assert :tool_result in names
    assert_received {:beamai_event, _run_id, {:started, _}}
    refute_received {_ref, :event, _}
  end

  test "whoever stops reading ends the run and what it has started" do
    test = self()

    slow = %{
      name: "slow",
      handler: fn _args, _context ->
        send(test, {:began, self()})
        Process.sleep(:infinity)
      end
    }

    agent = Agent.new(llm: scripted([%{tool_calls: [{"slow", %{}}]}, "Done."]), tools: slow)

    assert [{:started, _} | _] =
             agent |> Agent.stream("Go") |> Stream.take_while(&(not match?({:tool_started, _}, &1))) |> Enum.to_list()

    receive do
      {:began, pid} ->
        monitor = Process.monitor(pid)
        assert_receive {:DOWN, ^monitor, :process, _, _}, 2_000
    after
      500 -> :never_began
    end
  end

  test "what was under way is resumed from the store" do
    dir = Path.join(System.tmp_dir!(), "beamai-agent-#{System.unique_integer([:positive])}")
    on_exit(fn -> File.rm_rf!(dir) end)
    options = [agent_id: "build", store: {:beamai_store_file, %{dir: dir}}]
    test = self()

    waits = fn _request ->
      send(test, :asked)
      Process.sleep(:infinity)
    end

    pid = spawn(fn -> [llm: scripted([waits])] |> Keyword.merge(options) |> Agent.new() |> Agent.run("Go on") end)
    assert_receive :asked, 5_000
    Process.exit(pid, :kill)

    agent = [llm: scripted(["Went on."])] |> Keyword.merge(options) |> Agent.new()
    assert {:ok, %{content: "Went on."}, agent} = Agent.resume(agent)
    assert {:idle, _agent} = Agent.resume(agent)
  end
end
