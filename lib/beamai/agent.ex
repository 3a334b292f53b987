defmodule Beamai.Agent do
  @moduledoc """
  An agent: a chat model that calls tools until it has the answer.

      iex> llm = Beamai.Agent.model(:scripted, turns: [
      ...>   %{tool_calls: [{"file_glob", %{"pattern" => "mix.*"}}]},
      ...>   "This is a mix project."
      ...> ])
      iex> agent = Beamai.Agent.new(llm: llm, tools: :file)
      iex> {:ok, result, _agent} = Beamai.Agent.run(agent, "What is in this directory?")
      iex> {result.content, result.tool_calls}
      {"This is a mix project.", 1}

  An agent is data and a run is a function of it: it runs in the calling process, ends with it, and returns the agent for
  the next run, even if it failed. Options, results and events are those of `:beamai_agent`, with keyword lists in place of
  maps.
  """

  alias Beamai.Options

  import Beamai.Options, only: [explained: 1]

  @typedoc "An agent with its conversation: plain data of the library's own."
  @type t :: :beamai_agent.agent()

  @typedoc "Text, or a map with `:text` and `:files`."
  @type input :: String.t() | map

  @typedoc "Result of a run."
  @type outcome :: {:ok, :beamai_agent.result(), t} | {:error, :beamai_agent.failure(), t}

  @doc """
  A chat model: `:openai` or `:anthropic` and the others of `:beamai_chat.new/2`, with its options.

  Raises `Beamai.OptionError`.

      iex> Beamai.Agent.model(:openai, model: "m", base_url: 5)
      ** (Beamai.OptionError) base_url: must be a URL that begins with https:// or http://
  """
  @spec model(atom, keyword | map) :: :beamai_chat.model()
  def model(provider, options) do
    # Turns of a script are data.
    explained(fn -> :beamai_chat.new(provider, Options.flat(options)) end)
  end

  @doc """
  An agent.

  ## Options

    * `:llm` - required: a model of `model/2`
    * `:tools` - what `Beamai.add_tools/2` takes, on top of `:kernel`
    * `:kernel` - workspace, permissions, approvals: from `Beamai.new/1`; by default a new one
    * `:store` - a module, or `{module, options}`, such as `{:beamai_store_file, dir: "/var/lib/agents"}`
    * `:system_prompt` - text, or a list of texts and `{:file, path}`
    * `:max_iterations`, `:budget`, `:agents`, `:profile`, `:agent_id`, `:conversation`, `:output` and the others of
      `:beamai_agent.new/1`

  Raises `Beamai.OptionError`.

      iex> Beamai.Agent.new(tools: :file)
      ** (Beamai.OptionError) llm: is missing: a model made with Beamai.Agent.model
  """
  @spec new(keyword | map) :: t
  def new(options) do
    {tools, options} = Map.pop(Options.top_level(options), :tools, [])
    kernel = fn -> Beamai.add_tools(Map.get_lazy(options, :kernel, &Beamai.new/0), tools) end
    options = if tools == [], do: options, else: Map.put(options, :kernel, kernel.())
    {:ok, agent} = explained(fn -> :beamai_agent.new(options) end)
    agent
  end

  @doc """
  Gives the agent an input and runs it to its answer.

  ## Options

    * `:events` - a pid, which gets `{:beamai_event, run_id, event}`, or a function of the event
    * `:run_id` - the name for `Beamai.cancel/1`
    * `:max_iterations`, `:budget`, `:context`, `:output` and the others of `:beamai_agent.run/3`, for this run

      iex> agent = Beamai.Agent.new(llm: Beamai.Agent.model(:scripted, turns: [%{tool_calls: [{"todo_list", %{}}]}]), tools: :todo)
      iex> {:error, reason, _agent} = Beamai.Agent.run(agent, "Go on.", max_iterations: 1)
      iex> reason
      {:max_iterations, 1}
  """
  @spec run(t, input, keyword | map) :: outcome
  def run(agent, input, options \\ []) do
    explained(fn -> :beamai_agent.run(agent, input, Options.top_level(options)) end)
  end

  @doc """
  As `run/3`, but returns only the text of the answer. Raises a `RuntimeError` that explains what failed.
  """
  @spec run!(t, input, keyword | map) :: String.t()
  def run!(agent, input, options \\ []) do
    case run(agent, input, options) do
      {:ok, result, _agent} -> result.content
      {:error, reason, _agent} -> raise explain(reason)
    end
  end

  @doc """
  The events of a run as they occur; the last element is what `run/3` would return.

  The run takes place in a separate process, linked to the one that reads the stream. If you stop reading, the run ends
  with everything that it started.

      iex> agent = Beamai.Agent.new(llm: Beamai.Agent.model(:scripted, turns: ["Hello."]))
      iex> events = Enum.to_list(Beamai.Agent.stream(agent, "Hi"))
      iex> for {:text, text} <- events, do: text
      ["Hello."]
      iex> {:ok, %{content: "Hello."}, _agent} = List.last(events)
  """
  @spec stream(t, input, keyword | map) :: Enumerable.t()
  def stream(agent, input, options \\ []) do
    Stream.resource(
      fn -> start(&run(agent, input, &1), options) end,
      &next/1,
      &stop/1
    )
  end

  @doc """
  Continues the stored run of the agent's `:agent_id` that was interrupted when its process or node ended. Returns
  `{:idle, agent}` if there is none.

      iex> agent = Beamai.Agent.new(llm: Beamai.Agent.model(:scripted, turns: ["Hello."]))
      iex> {:idle, _agent} = Beamai.Agent.resume(agent)
  """
  @spec resume(t, keyword | map) :: outcome | {:idle, t}
  def resume(agent, options \\ []) do
    explained(fn -> :beamai_agent.resume(agent, Options.top_level(options)) end)
  end

  @doc "The conversation so far: plain data for the option `:conversation` of a later agent."
  @spec conversation(t) :: :beamai_conversation.t()
  defdelegate conversation(agent), to: :beamai_agent

  @doc """
  Explains a failure of a run in a sentence.

      iex> Beamai.Agent.explain({:max_iterations, 1})
      "Ended: the model had not finished after 1 answer, the limit max_iterations."
  """
  @spec explain(:beamai_agent.failure()) :: String.t()
  defdelegate explain(reason), to: :beamai_agent

  # A reference tells the messages of this run from all others.
  defp start(run, options) do
    {reader, ref} = {self(), make_ref()}
    options = Options.top_level(options)
    options = Map.put_new_lazy(options, :run_id, fn -> ref end)
    tell = fn event -> send(reader, {ref, :event, event}) end
    heard = Map.get(options, :events)
    told = Map.put(options, :events, fn event -> tell.(event) && pass(heard, options.run_id, event) end)
    # Dies with the reader; the reader hears of its end by the monitor.
    {pid, monitor} = Process.spawn(fn -> send(reader, {ref, :ended, run.(told)}) end, [:link, :monitor])
    %{ref: ref, pid: pid, monitor: monitor, run_id: options.run_id}
  end

  defp pass(nil, _run_id, _event), do: :ok
  defp pass(pid, run_id, event) when is_pid(pid), do: send(pid, {:beamai_event, run_id, event})
  defp pass(fun, _run_id, event), do: fun.(event)

  defp next(:ended), do: {:halt, :ended}

  defp next(%{ref: ref, monitor: monitor} = run) do
    receive do
      {^ref, :event, event} -> {[event], run}
      {^ref, :ended, outcome} -> {[outcome], ended(run)}
      {:DOWN, ^monitor, :process, _pid, reason} -> exit(reason)
    end
  end

  defp ended(%{pid: pid, monitor: monitor}) do
    Process.demonitor(monitor, [:flush])
    Process.unlink(pid)
    :ended
  end

  defp stop(:ended), do: :ok

  defp stop(%{ref: ref, pid: pid, run_id: run_id} = run) do
    Beamai.cancel(run_id)
    ended(run)
    Process.exit(pid, :kill)
    flush(ref)
  end

  defp flush(ref) do
    receive do
      {^ref, _, _} -> flush(ref)
    after
      0 -> :ok
    end
  end
end
