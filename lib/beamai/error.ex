defmodule Beamai.Error do
  @moduledoc """
  The error of a tool call.

    * `:tool` - the name of the tool
    * `:error_type` - `:not_found`, `:invalid_input`, `:permission_denied`, `:timeout` or `:execution_failed`
    * `:message` - what was wrong and what to do next, for a person or a model
    * `:details` - a map that always has `:reason`, an atom; for permissions also `:matched_rule` and the `:file` or
      `:command`, for a timeout the output so far

  The keys are those of the Erlang API's error maps: functions that take one of them take the struct.
  """

  @enforce_keys [:tool, :error_type, :message]
  defexception [:tool, :error_type, :message, details: %{}]

  @type t :: %__MODULE__{
          tool: String.t(),
          error_type: :not_found | :invalid_input | :permission_denied | :timeout | :execution_failed,
          message: String.t(),
          details: map
        }

  @doc false
  @spec of_handler(String.t(), term) :: t
  def of_handler(tool, term) do
    message = if is_binary(term), do: term, else: "#{tool} failed: #{inspect(term)}"
    %__MODULE__{tool: tool, error_type: :execution_failed, message: message, details: %{reason: :handler_error, error: term}}
  end
end

defmodule Beamai.OptionError do
  @moduledoc """
  An invalid option, tool spec, filter or kernel: a mistake in the calling code.

  `:reason` is what the Erlang API raises, such as `{:bad_option, :sandbox}`; the message says which value is invalid and
  what is accepted.
  """

  @enforce_keys [:reason, :message]
  defexception [:reason, :message]

  @type t :: %__MODULE__{reason: term, message: String.t()}

  @doc false
  @spec explained(term, Exception.stacktrace()) :: t
  def explained({:invalid_tool, :undefined, problems} = reason, _stack) do
    %__MODULE__{reason: reason, message: "the tool is not valid: #{Enum.join(problems, "; ")}"}
  end

  def explained({:invalid_tool, name, problems} = reason, _stack) do
    %__MODULE__{reason: reason, message: "the tool #{inspect(name)} is not valid: #{Enum.join(problems, "; ")}"}
  end

  def explained({:beamai_not_loaded, why} = reason, _stack), do: %__MODULE__{reason: reason, message: why}

  def explained(reason, stack) do
    %__MODULE__{reason: reason, message: explanation(stack) || Exception.format_banner(:error, reason)}
  end

  defp explanation([{_module, _function, _args, info} | _]) do
    with %{cause: %{general: text}} <- info[:error_info], do: text, else: (_ -> nil)
  end

  defp explanation(_stack), do: nil
end
