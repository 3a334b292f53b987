defmodule Beamai.MixProject do
  use Mix.Project

  # What is said of the application once, for rebar3 and for mix.
  @app_src Path.join(__DIR__, "erlang/src/beamai.app.src")
  @external_resource @app_src
  @app (case :file.consult(@app_src) do
          {:ok, [{:application, :beamai, properties}]} -> properties
        end)

  def project do
    [
      app: :beamai,
      version: to_string(@app[:vsn]),
      elixir: "~> 1.14",
      erlc_paths: ["erlang/src"],
      erlc_options: [:debug_info],
      # rebar3 builds into _build as well, with other contents.
      build_path: "_build/mix",
      test_paths: ["tests/elixir"],
      test_pattern: "*_test.exs",
      compilers: [:beamai_native] ++ Mix.compilers() ++ [:beamai_docs],
      # Structs in tests derive after the start.
      consolidate_protocols: Mix.env() != :test,
      deps: []
    ]
  end

  def application do
    [
      mod: @app[:mod],
      registered: @app[:registered],
      extra_applications: @app[:applications] -- [:kernel, :stdlib],
      # Messages show terms as an Elixir host writes them.
      env: Keyword.put(@app[:env], :syntax, :elixir)
    ]
  end
end

defmodule Mix.Tasks.Compile.BeamaiNative do
  @moduledoc false
  use Mix.Task.Compiler

  @impl true
  def run(_args) do
    env = env(Application.get_all_env(:beamai), System.get_env())
    {_output, status} = System.cmd("sh", ["scripts/native"], env: env, into: IO.stream(:stdio, :line), stderr_to_stdout: true)
    if status != 0, do: Mix.raise("beamai: its native parts could not be built or fetched; what is above says why")
    # The link to priv is made only where there is one already.
    Mix.Project.build_structure()
    {:ok, []}
  end

  # `config :beamai, prebuilt: "...", prebuilt_sha256: "..."` is what rebar.config has as beamai_prebuilt and
  # beamai_prebuilt_sha256. The variables of the environment count more.
  def env(config, variables) do
    settings =
      for {key, name} <- [prebuilt: "BEAMAI_PREBUILT", prebuilt_sha256: "BEAMAI_PREBUILT_SHA256"], value = config[key] do
        {name, text(key, value)}
      end

    cond do
      variables["BEAMAI_PREBUILT"] || config[:prebuilt] == nil -> []
      variables["BEAMAI_PREBUILT_SHA256"] -> List.keydelete(settings, "BEAMAI_PREBUILT_SHA256", 0)
      true -> settings
    end
  end

  defp text(_key, text) when is_binary(text), do: text

  defp text(key, value) do
    if :io_lib.char_list(value),
      do: List.to_string(value),
      else: Mix.raise("config :beamai, #{key}: must be a string, not #{inspect(value)}")
  end
end

defmodule Mix.Tasks.Compile.BeamaiDocs do
  @moduledoc false
  use Mix.Task.Compiler

  @impl true
  def run(_args) do
    {_output, 0} = System.cmd("escript", ["scripts/docs-chunks", Mix.Project.app_path()], into: IO.stream(:stdio, :line))
    {:ok, []}
  end
end
