"""What keeps a run honest: rules over text and passages, and flows that wrap or check; standard library only.

dates/        dates and intervals in text, who held what when; `comparing`: which of two came first
plans/        plans: read, checked, mended, shown        validity    whether a step's result can be used
searching/    searches with retry and fallback: expansion, keywords, other words for a query
grounding/    whether an answer follows from what was cited: by rule, then by a judge
citations     quotes and what they say                   defusing    outside text that looks like a scaffold
evidence      snippets, and noting a hop                 timing      the clock of a question about a moment
guarded       a flow with its guards around it           outcome     answers and abstentions
stopping      when to stop looking up                    votes       majorities of samples
scaffold      labels in a reply                          tooling     tools' arguments as models write them
question_type which strategy fits a question             text        words, sentences, stems
"""
