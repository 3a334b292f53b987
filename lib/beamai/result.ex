defprotocol Beamai.Result do
  @moduledoc """
  Defines what a model sees of a struct that one of your tools returns.

      defmodule User do
        @derive {Beamai.Result, only: [:id, :name]}
        defstruct [:id, :name, :password_hash]
      end

  A struct's fields may be secret, so a struct without this is not shown to models; they get an error that says so.
  Options are `only: fields` and `except: fields`; without them all fields are shown. Deriving `Jason.Encoder` or
  `JSON.Encoder`, or implementing `String.Chars`, works too. Dates, times, `MapSet` and exceptions need nothing.

      iex> Beamai.for_model("now", %{}, %{at: ~U[2024-02-29 12:00:00Z]})
      ~s({"at":"2024-02-29T12:00:00Z"})

  Programs that call the kernel get the struct itself.
  """

  @doc "The map, list, string or number that represents the struct."
  @spec to_result(t) :: term
  def to_result(struct)
end

defimpl Beamai.Result, for: Any do
  defmacro __deriving__(module, struct, options) do
    fields = Beamai.Result.Fields.of!(module, struct, options)

    quote do
      defimpl Beamai.Result, for: unquote(module) do
        def to_result(struct), do: Map.take(struct, unquote(fields))
      end
    end
  end

  def to_result(struct), do: raise(Protocol.UndefinedError, protocol: Beamai.Result, value: struct)
end

defmodule Beamai.Result.Fields do
  @moduledoc false

  @spec of!(module, map, keyword) :: [atom]
  def of!(module, struct, options) do
    fields = Map.keys(struct) -- [:__struct__, :__exception__]

    case {Keyword.keys(options), Keyword.values(options)} do
      {[], []} -> fields
      {[:only], [only]} -> known!(module, fields, only)
      {[:except], [except]} -> fields -- known!(module, fields, except)
      _ -> raise ArgumentError, "@derive Beamai.Result takes only: fields or except: fields, not #{inspect(options)}"
    end
  end

  defp known!(module, fields, named) do
    case named -- fields do
      [] -> named
      unknown -> raise ArgumentError, "#{inspect(module)} has no fields #{inspect(unknown)}; it has #{inspect(fields)}"
    end
  end
end
