"""The page's own style and script: fixed texts, into which nothing is put."""

STYLE = """
:root{color-scheme:light dark;--ink:#1a1a1a;--soft:#595959;--paper:#fff;--line:#c8c8c8;--raised:#f5f5f3;--link:#0b57a4;
--s1:#0072b2;--s2:#b84e00;--s3:#00795a;--s4:#a8447f;--s5:#8a6100;--s6:#2a7fae;--s7:#1a1a1a}
@media (prefers-color-scheme:dark){:root{--ink:#e8e8e6;--soft:#a9a9a5;--paper:#16181b;--line:#44484d;--raised:#1f2226;--link:#8cc4ff;
--s1:#56b4e9;--s2:#ff9a55;--s3:#2fc79c;--s4:#e39ac4;--s5:#e6b84a;--s6:#9bd0f5;--s7:#e8e8e6}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem clamp(.8rem,3vw,2rem) 4rem;max-width:70rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
a{color:var(--link)}
.skip{position:absolute;left:-100vw}.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.3rem .6rem}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:none;padding:0;margin:0;font-size:.9rem}
h1{font-size:1.7rem;line-height:1.2;margin:1.2rem 0 .8rem}
h2{font-size:1.3rem;margin:2.6rem 0 .8rem;padding-top:.6rem;border-top:1px solid var(--line)}
h3{font-size:1.08rem;margin:2rem 0 .5rem}h4{font-size:1rem;margin:0 0 .2rem}
p,ul{max-width:46rem}.finding{font-size:1.12rem;font-weight:600;margin:.7rem 0}
.wide{overflow-x:auto;margin:.8rem 0;max-width:100%}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}
caption{text-align:left;font-weight:600;padding:.2rem 0 .4rem;position:sticky;left:0}
th,td{padding:.28rem .7rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;vertical-align:top;overflow-wrap:normal}
th:first-child,td:first-child{text-align:left;padding-left:0}thead th{border-bottom:2px solid var(--ink);white-space:normal;vertical-align:bottom}
tbody th{font-weight:400}.facts td{text-align:left;white-space:normal}.facts tbody th{color:var(--soft)}
details{margin:.6rem 0}summary{cursor:pointer;font-weight:600}
figure{margin:1rem 0;max-width:40rem}figure svg{width:100%;height:auto;display:block}
figcaption,.dim{color:var(--soft);font-size:.88rem}
.filter{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin:.8rem 0}.filter[hidden]{display:none}
select,input{font:inherit;color:inherit;background:var(--raised);border:1px solid var(--soft);border-radius:.25rem;padding:.25rem .5rem;max-width:100%}
.card{border-bottom:1px solid var(--line);margin:0;padding:.45rem 0}.card summary{font-weight:400}
.score{display:inline-block;min-width:6.6rem;font-size:.85rem;color:var(--soft)}
.sides{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:.8rem;margin:.6rem 0 1rem}
.side{background:var(--raised);border:1px solid var(--line);border-radius:.35rem;padding:.6rem .8rem}
.side p,.side ul{margin:.3rem 0}.side ul{padding:0;list-style:none;font-size:.9rem}.side li{margin:.25rem 0}
.answer{font-weight:600}.yes,.no{font-size:.85rem;font-weight:600;white-space:nowrap}.no{text-decoration:underline dotted}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
@media print{@page{size:A4;margin:16mm}:root{color-scheme:light;--ink:#000;--soft:#333;--paper:#fff;--line:#888;--raised:#fff;--link:#000;
--s1:#000;--s2:#000;--s3:#000;--s4:#000;--s5:#000;--s6:#000;--s7:#000}
body{max-width:none;padding:0;font-size:9.5pt}nav,.skip,.filter{display:none}.wide{overflow:visible}
table{font-size:7.5pt}th,td{white-space:normal;padding:.15rem .3rem}details:not(.card)::details-content{content-visibility:visible;height:auto}
figure{max-width:13cm}figure,tr,.side,.wide{break-inside:avoid}h2,h3{break-after:avoid}}
"""

SCRIPT = """
"use strict";
for (const section of document.querySelectorAll(".cards")) {
  const bar = section.querySelector(".filter"), state = bar.querySelector("select"), words = bar.querySelector("input");
  const count = bar.querySelector(".count"), cards = [...section.querySelectorAll(".card")];
  const texts = cards.map((card) => card.textContent.toLowerCase());
  const show = () => {
    const wanted = words.value.toLowerCase().trim();
    let shown = 0;
    cards.forEach((card, at) => {
      card.hidden = !((!state.value || card.dataset.state === state.value) && texts[at].includes(wanted));
      shown += !card.hidden;
    });
    count.textContent = shown === 1 ? "1 question" : shown + " questions";
  };
  bar.hidden = false;
  state.addEventListener("change", show);
  words.addEventListener("input", show);
}
"""
