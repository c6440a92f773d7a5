## One self-contained page; everything printed is escaped (codegen/page.py), nothing is fetched.
<%def name="number(figure)">\
% if figure.text:
<td class="number ${figure.origin}" data-origin="${figure.origin}" title="${figure.unit}, ${figure.origin}">${figure.text}</td>\
% else:
<td></td>\
% endif
</%def>\
<%def name="considered(rows, places)">\
<table>
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
</tbody></table>
</%def>\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${page.title} for ${page.target}</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1100px; padding: 0 1em; color: #222; background: #fff; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .2em .6em; border-bottom: 1px solid #ddd; vertical-align: top; overflow-wrap: break-word; }
th { font-weight: 600; vertical-align: bottom; } td.name { overflow-wrap: anywhere; min-width: 12em; } .number { text-align: right; } td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.cards { display: flex; flex-wrap: wrap; gap: .6em; } .card { border: 1px solid #ddd; border-radius: .4em; padding: .4em .8em; } .card b { font-size: 1.2em; } .card i { color: #666; font-style: normal; font-size: .85em; }
.simulated { color: #06603a; } .modelled { color: #1f4e9c; } .proven { color: #6b2c91; }
.bar { background: #1f4e9c33; height: .35em; } .fallback { color: #777; } .chosen td { font-weight: 600; } .warning { background: #fff3cd; padding: .3em .8em; }
details { margin: .3em 0; } summary { cursor: pointer; } details table { margin: .5em 0 1em; font-size: .92em; } dl { display: grid; grid-template-columns: max-content auto; gap: 0 1em; margin: .5em 0; } dd { margin: 0; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; border: 1px solid #ddd; } svg text { font: 10px sans-serif; }
.t0 { fill: #8fb3e0; } .t1 { fill: #a5d6b4; } .t2 { fill: #f2c48d; } .t3 { fill: #d3a9d8; } .t4 { fill: #e8a5a0; } .t5 { fill: #b9c2cc; } rect { stroke: #fff; stroke-width: .5; }
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
<table><tbody>
% for port in page.ports:
<tr><td>${port.role}</td><td>${port.name}</td><td>${port.tensor}</td></tr>
% endfor
</tbody></table>

<h2>Layers</h2>
<table>
<thead><tr><th class="number">#</th><th>layer</th><th>runs on</th><th>as</th><th>output</th><th class="number">MACs (planned)</th><th class="number">cycles (modelled)</th><th class="number">cycles (simulated)</th><th class="number">off the model, LSB (proven)</th></tr></thead>
<tbody>
% for row in page.rows:
<tr class="${"fallback" if row.module == "fallback" else "layer"}"><td class="number"><a href="#layer-${row.index}">${row.index}</a></td><td class="name">${row.name}\
% if row.share:
<div class="bar" style="width: ${"%.1f" % row.share}%"></div>\
% endif
</td><td>${row.module}</td><td>${row.pattern}</td><td>${row.output}</td>${number(row.macs)}${number(row.predicted)}${number(row.simulated)}${number(row.deviation)}</tr>
% endfor
</tbody></table>

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

<h2>Memory</h2>
<% memory = page.memory %>\
<p><b data-origin="planned">${memory.nbytes}</b> bytes of ${memory.name} (planned); no plan needs fewer than <b data-origin="proven">${memory.least}</b> (proven).\
% if memory.peak:
 Fullest at step ${memory.peak}.\
% endif
 Steps to the right, addresses upwards; point at a block for its name.</p>
<svg viewBox="0 0 960 320" role="img" aria-label="memory map">
% if memory.peak:
<rect x="${memory.peak_x}" y="0" width="${memory.step_width}" height="320" fill="#00000012"/>
% endif
% for block in memory.blocks:
<g><title>${block.title}</title><rect class="t${block.tone}" x="${block.x}" y="${block.y}" width="${block.width}" height="${block.height}"/>\
% if block.label:
<text x="${block.x + 3}" y="${block.y + 11}">${block.label}</text>\
% endif
</g>
% endfor
<line x1="0" x2="960" y1="${memory.least_y}" y2="${memory.least_y}" stroke="#6b2c91" stroke-dasharray="4 3"/>
</svg>
</body>
</html>
