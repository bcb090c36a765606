// Package replay decides recorded cycles again, by the code that a manager decides with: [Decide]
// returns the plan, [Explanation] what there is to say of one variant of it, [Answers] why it is
// not another one. The commands of wva and its dashboard share it, so that both say the same of one
// cycle.
//
// A record holds the inputs of a decision. It holds neither the scalers of the targets nor which of
// them follow.
package replay
