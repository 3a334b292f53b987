defmodule Consumer.MixProject do
  use Mix.Project

  def project do
    [app: :consumer, version: "1.0.0", deps: deps()]
  end

  def application, do: [extra_applications: [:logger]]

  # By default mix builds all of it; rebar3 builds the Erlang modules only.
  defp manager do
    case System.get_env("BEAMAI_MANAGER") do
      nil -> []
      "rebar3" -> [manager: :rebar3]
    end
  end

  defp deps do
    [{:beamai, [git: System.fetch_env!("BEAMAI_GIT"), ref: System.fetch_env!("BEAMAI_REF")] ++ manager()}]
  end
end
