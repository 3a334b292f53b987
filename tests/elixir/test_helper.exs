# Captures what is logged.
{:ok, _} = Application.ensure_all_started(:logger)
ExUnit.start()
