%% @doc The styles of the inspector's page.
%% @hidden
-module(beamai_inspector_style).

-export([css/0]).

%% @doc The styles, with a light and a dark theme according to the system's setting.
-spec css() -> iolist().
css() ->
    [
        <<":root { color-scheme: light dark; --line: #8884; --ok: #2e8b57; --error: #c0392b; --refused: #b8860b; --model: #4169e1; --agent: #777; --running: #9370db; }\n">>,
        <<"body { margin: 0; font: 13px system-ui, sans-serif; display: grid; grid-template: auto 1fr / 1fr 37em; height: 100vh; }\n">>,
        <<"header { grid-column: 1 / 3; display: flex; gap: .6em; padding: .5em; align-items: center; border-bottom: 1px solid var(--line); flex-wrap: wrap; }\n">>,
        <<"header h1 { font-size: 1em; margin: 0 1em 0 0; }\n">>,
        <<"#list { overflow: auto; position: relative; outline-offset: -2px; }\n">>,
        <<"#rows { position: relative; }\n">>,
        <<".row { position: absolute; left: 0; right: 0; height: 22px; display: grid; grid-template-columns: 22em 7em 1fr; align-items: center; white-space: nowrap; cursor: default; }\n">>,
        <<".row[aria-selected=true] { background: #4682b433; }\n">>,
        <<".row span { overflow: hidden; text-overflow: ellipsis; padding: 0 .4em; }\n">>,
        <<".lane { position: relative; height: 14px; overflow: hidden; }\n">>,
        <<".bar { position: absolute; height: 12px; top: 1px; min-width: 2px; border-radius: 2px; background: var(--ok); }\n">>,
        <<".bar.model { background: var(--model); } .bar.agent { background: var(--agent); } .bar.error { background: var(--error); } .bar.refused { background: var(--refused); } .bar.running { background: var(--running); }\n">>,
        <<".error b { color: var(--error); } .refused b { color: var(--refused); }\n">>,
        <<"aside { overflow: auto; border-left: 1px solid var(--line); padding: .6em; }\n">>,
        <<"pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .2em 0 .8em; font: 12px ui-monospace, monospace; }\n">>,
        <<"pre .add { color: var(--ok); } pre .del { color: var(--error); }\n">>,
        <<"pre.terminal { background: #1b1b1b; color: #ddd; padding: .5em; border-radius: 4px; } pre.terminal .err { color: #ff9c8f; }\n">>,
        <<"table { border-collapse: collapse; margin-bottom: 1em; } td, th { text-align: right; padding: .1em .5em; border-bottom: 1px solid var(--line); } td:first-child, th:first-child { text-align: left; }\n">>,
        <<".sums { font-size: 12px; } .sums td:not(:first-child) { white-space: nowrap; } .sums td:first-child { overflow-wrap: anywhere; }\n">>,
        <<".message { border-left: 3px solid var(--line); padding-left: .6em; margin-bottom: .8em; } .message.user { border-color: var(--model); } .message.tool { border-color: var(--agent); }\n">>,
        <<"img { max-width: 100%; }\n">>,
        <<"svg { display: block; width: 100%; margin-bottom: 1em; } svg text { fill: currentColor; font: 11px system-ui, sans-serif; }\n">>,
        <<"svg .ok { fill: var(--ok); } svg .error { fill: var(--error); } svg .refused { fill: var(--refused); } svg .model { fill: var(--model); } svg .agent { fill: var(--agent); }\n">>,
        <<"h3 { font-size: 1em; margin: .8em 0 .2em; }\n">>
    ].
