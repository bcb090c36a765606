package picture

// style is the colours and type of a picture. The lines have different hues in both themes; --ok,
// --warn and --bad are the thresholds' green, orange and red.
const style = `<style>
svg { color-scheme: light dark; --page: #f2f4f7; --card: #ffffff; --rim: #dde1e7; --ink: #1f2328; --soft: #606b78; --grid: #e8ebef;
  --ok: #1a7f37; --warn: #b35900; --bad: #cf222e;
  --l0: #1f6feb; --l1: #d9730d; --l2: #1a8f5a; --l3: #8250df; --l4: #bf3989; --l5: #0b7f8e; --l6: #8a6100; --l7: #64748b }
@media (prefers-color-scheme: dark) {
  svg { --page: #0f1217; --card: #181b20; --rim: #2a2f37; --ink: #e6e9ee; --soft: #9aa4b1; --grid: #262b33;
    --ok: #4ac26b; --warn: #f0a04b; --bad: #ff7b72;
    --l0: #6cb0ff; --l1: #f0a04b; --l2: #4ac28a; --l3: #c297ff; --l4: #ff8fc8; --l5: #4cc9e0; --l6: #e3c04f; --l7: #a3b1c2 }
}
text { fill: var(--soft); font-size: 11px } .head { fill: var(--ink); font-size: 20px; font-weight: 600 } .lead { font-size: 13px }
.title { fill: var(--ink); font-size: 13px; font-weight: 600 } .cell { fill: var(--ink); font-size: 12px } .words { font-size: 13px }
.big { font-size: 30px; font-weight: 600 } .long { font-size: 20px; font-weight: 600 } .text { fill: var(--ink) } .green { fill: var(--ok) } .orange { fill: var(--warn) } .red { fill: var(--bad) }
.card { fill: var(--card); stroke: var(--rim) } path { fill: none } .grid { stroke: var(--grid) }
.line { stroke-width: 1.8; stroke-linejoin: round } .dash { stroke-dasharray: 7 5; stroke-width: 1.5 } .limit { stroke: var(--bad); stroke-dasharray: 3 4; opacity: 0.7 }
.l0 { stroke: var(--l0) } .l1 { stroke: var(--l1) } .l2 { stroke: var(--l2) } .l3 { stroke: var(--l3) }
.l4 { stroke: var(--l4) } .l5 { stroke: var(--l5) } .l6 { stroke: var(--l6) } .l7 { stroke: var(--l7) }
path.green { stroke: var(--ok); fill: none } path.orange { stroke: var(--warn); fill: none } path.red { stroke: var(--bad); fill: none }
.area { opacity: 0.14 } .bar { opacity: 0.75 } path.area, path.bar { stroke: none }
.area.l0, .bar.l0 { fill: var(--l0) } .area.l1, .bar.l1 { fill: var(--l1) } .area.l2, .bar.l2 { fill: var(--l2) } .area.l3, .bar.l3 { fill: var(--l3) }
.area.l4, .bar.l4 { fill: var(--l4) } .area.l5, .bar.l5 { fill: var(--l5) } .area.l6, .bar.l6 { fill: var(--l6) } .area.l7, .bar.l7 { fill: var(--l7) }
path.area.green, path.bar.green { stroke: none; fill: var(--ok) } path.area.orange, path.bar.orange { stroke: none; fill: var(--warn) } path.area.red, path.bar.red { stroke: none; fill: var(--bad) }
</style>
`

// hues is the number of colours of lines; further lines start with the first colour again.
const hues = 8
