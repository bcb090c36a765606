// Package replay decides recorded cycles again, by the code that a manager decides with: [Decide] returns
// the plan, [Explanation] what there is to say of one variant of it, [Answers] why it is not another one.
// The commands of wva and its dashboard share it, so that both say the same of one cycle.
//
// A record holds what the decision was made from. It does not hold what stands beside a decision: the
// scalers of the targets, and which of them follow.
package replay
