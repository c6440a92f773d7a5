## One self-contained page; everything printed is escaped (codegen/page.py), nothing is fetched.
<%def name="number(figure)">\
% if figure.text:
<td class="number ${figure.origin}" data-origin="${figure.origin}" title="${figure.unit}, ${figure.origin}">${figure.text}</td>\
% else:
<td></td>\
% endif
</%def>\
<%def name="considered(rows, places)">\
<div class="wide"><table>
<thead><tr>\
% if places:
<th>layer</th>\
% endif
<th>module</th><th>pattern</th><th class="number">cycles (modelled)</th><th class="number">on the core (modelled)</th><th></th></tr></thead>
<tbody>
% for place, one in rows:
<tr class="${"chosen" if one.chosen else "other"}">\
% if places:
<td>${place}</td>\
% endif
<td>${one.module}</td><td>${one.pattern}</td>${number(one.cycles)}${number(one.core)}<td>${one.outcome}</td></tr>
% endfor
</tbody></table></div>
</%def>\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src ${allowed(page.library) | n} ${allowed(script) | n}">
<meta name="viewport" content="width=device-width">
<title>${page.title} for ${page.target}</title>
<style>
:root { color-scheme: light dark; --ink: #24292f; --paper: #fff; --line: #d8dee4; --faint: #57606a; --tint: #0969da44; --shade: #0004; --simulated: #06603a; --modelled: #1f4e9c; --proven: #6b2c91; --warning: #fff3cd; }
@media (prefers-color-scheme: dark) { :root { --ink: #d7dde4; --paper: #14181d; --line: #39424d; --faint: #9aa5b1; --tint: #539bf566; --shade: #fff4; --simulated: #57c78f; --modelled: #7fb2ff; --proven: #cf9bff; --warning: #4d3d00; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1100px; padding: 0 1em; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; } a { color: var(--modelled); }
.wide { overflow-x: auto; background: linear-gradient(to right, var(--paper) 45%, transparent) 0 0 / 2em 100% local, linear-gradient(to left, var(--paper) 45%, transparent) 100% 0 / 2em 100% local, linear-gradient(to right, var(--shade), transparent) 0 0 / .8em 100% scroll, linear-gradient(to left, var(--shade), transparent) 100% 0 / .8em 100% scroll; background-repeat: no-repeat; } table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .2em .6em; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; }
th { font-weight: 600; vertical-align: bottom; } td.name { overflow-wrap: anywhere; min-width: 12em; } .number { text-align: right; } th.number + th.number { min-width: 5em; } td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.cards { display: flex; flex-wrap: wrap; gap: .6em; } .card { border: 1px solid var(--line); border-radius: .4em; padding: .4em .8em; } .card b { font-size: 1.2em; } .card i { color: var(--faint); font-style: normal; font-size: .85em; }
.simulated { color: var(--simulated); } .modelled { color: var(--modelled); } .proven { color: var(--proven); }
.bar { background: var(--tint); height: .35em; } .fallback { color: var(--faint); } .chosen td { font-weight: 600; } .warning { background: var(--warning); padding: .3em .8em; }
details { margin: .3em 0; } summary { cursor: pointer; } details table { margin: .5em 0 1em; font-size: .92em; } dl { display: grid; grid-template-columns: fit-content(40%) auto; gap: 0 1em; margin: .5em 0; } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1.5em 0; } figcaption { font-weight: 600; } figure p { color: var(--faint); margin: .2em 0; font-size: .92em; } .drawing { width: 100%; max-height: 90em; overflow: auto; }
@media screen { .drawing:not([data-drawn]) { min-height: 24em; } }
@media screen and (max-width: 900px) { .wide table { font-size: .85em; } th, td { padding: .2em .4em; } td.name { min-width: 8em; } }
@media print { .drawing { max-height: none; } body { max-width: none; margin: 0; } figure, tr { break-inside: avoid; } }
</style>
</head>
<body>
<h1>${page.title} for ${page.target}</h1>
% for warning in page.warnings:
<p class="warning">${warning}</p>
% endfor
<div class="cards">
% for what, figure in page.headline:
<div class="card"><b class="${figure.origin}" data-origin="${figure.origin}">${figure.text}</b> ${figure.unit}<br>${what} <i>(${figure.origin})</i></div>
% endfor
</div>
<p>
% for name, meaning in page.origins:
<b class="${name}">${name}</b>: ${meaning}. \
% endfor

Nothing here was measured on a chip.</p>

<h2>Inputs and outputs</h2>
<div class="wide"><table><tbody>
% for port in page.ports:
<tr><td>${port.role}</td><td>${port.name}</td><td>${port.tensor}</td></tr>
% endfor
</tbody></table></div>

<h2>Figures</h2>
<p>Point at a mark for what it is; click a call for its card below. Graph and timeline are dragged to move; the wheel with the control key zooms.</p>
<noscript><p class="warning">Figures need JavaScript. The tables below say the same.</p></noscript>
% for figure in page.figures:
<figure id="figure-${figure.name}"><figcaption>${figure.title}</figcaption>
<p>${figure.description}</p>
<div class="drawing" data-figure="${figure.name}" role="img" tabindex="0" aria-label="${figure.description}"></div>
<script type="application/json" id="spec-${figure.name}">${data(figure.spec) | n}</script>
</figure>
% endfor
% for name, why in page.missing:
<p class="missing">No ${name}: ${why}.</p>
% endfor

<h2>Layers</h2>
<div class="wide"><table>
<thead><tr><th class="number">#</th><th>layer</th><th>runs on</th><th>as</th><th>output</th><th class="number">MACs (planned)</th><th class="number">cycles (modelled)</th><th class="number">cycles (simulated)</th><th class="number">off the model, LSB (proven)</th></tr></thead>
<tbody>
% for row in page.rows:
<tr class="${"fallback" if row.module == "fallback" else "layer"}"><td class="number"><a href="#layer-${row.index}">${row.index}</a></td><td class="name">${row.name}\
% if row.share:
<div class="bar" style="width: ${"%.1f" % row.share}%"></div>\
% endif
</td><td>${row.module}</td><td>${row.pattern}</td><td>${row.output}</td>${number(row.macs)}${number(row.predicted)}${number(row.simulated)}${number(row.deviation)}</tr>
% endfor
</tbody></table></div>

<h2>Why each layer runs where it does</h2>
% for row in page.rows:
<details id="layer-${row.index}"><summary>${row.index} ${row.name}: ${row.module}, ${row.pattern}</summary>
<dl>
% for what, text in row.facts:
<dt>${what}</dt><dd>${text}</dd>
% endfor
% for what, figure in row.parts:
<dt>${what}</dt><dd class="${figure.origin}" data-origin="${figure.origin}">${figure.text} cycles (${figure.origin})</dd>
% endfor
</dl>
% if row.considered:
${considered([("", one) for one in row.considered], False)}\
% else:
<p>No pattern of any module matches here.</p>
% endif
</details>
% endfor
% if page.unmatched:
<details><summary>Considered within other layers</summary>
${considered(page.unmatched, True)}\
</details>
% endif

<script>${page.library | n}</script>
<script>${script | n}</script>
</body>
</html>
