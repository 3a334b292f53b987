defmodule Consumer.MixProject do
  use Mix.Project

  def project do
    [app: :consumer, version: "1.0.0", deps: deps()]
  end

  def application, do: [extra_applications: [:logger]]

  defp deps do
    [{:beamai, git: System.fetch_env!("BEAMAI_GIT"), ref: System.fetch_env!("BEAMAI_REF"), manager: :rebar3}]
  end
end
