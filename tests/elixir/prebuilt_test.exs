defmodule Beamai.PrebuiltTest do
  use ExUnit.Case, async: true

  # The compiler in mix.exs, which hands the settings to scripts/native.
  import Mix.Tasks.Compile.BeamaiNative, only: [env: 2]

  @sum String.duplicate("0", 64)

  test "place and checksum are taken from the settings, as strings and as charlists" do
    whole = [{"BEAMAI_PREBUILT", "/srv/parts"}, {"BEAMAI_PREBUILT_SHA256", @sum}]
    assert env([prebuilt: "/srv/parts", prebuilt_sha256: @sum], %{}) == whole
    assert env([prebuilt: '/srv/parts', prebuilt_sha256: to_charlist(@sum)], %{}) == whole
    assert env([prebuilt: "/srv/parts"], %{}) == [{"BEAMAI_PREBUILT", "/srv/parts"}]
    assert env([syntax: :elixir], %{}) == []
  end

  test "variables count more, and a checksum is for its place alone" do
    config = [prebuilt: "/srv/parts", prebuilt_sha256: @sum]
    assert env(config, %{"BEAMAI_PREBUILT" => "/other"}) == []
    assert env(config, %{"BEAMAI_PREBUILT_SHA256" => "1"}) == [{"BEAMAI_PREBUILT", "/srv/parts"}]
    assert env([prebuilt_sha256: @sum], %{}) == []
  end

  test "what is no text is refused" do
    assert_raise Mix.Error, "config :beamai, prebuilt: must be a string, not 42", fn -> env([prebuilt: 42], %{}) end
  end
end
