[
  inputs: ["mix.exs", "lib/**/*.ex", "tests/elixir/**/*.exs", "tests/consumer_mix/**/*.{ex,exs}"],
  line_length: 130,
  locals_without_parens: [deftool: 2, deftool: 3],
  export: [locals_without_parens: [deftool: 2, deftool: 3]]
]
