// Package schedule says which freeze windows are in force at an instant: times of the week, or
// dates, in a named time zone, in which decisions do not change, or only grow.
//
// A Window is what a user writes; Parse checks it and returns a Rule. A Schedule is a list of
// rules, and Schedule.At(now).Of(variant) is the strictest freeze in force. All are values: the
// package reads no clock. It reads the time zones of the system, and embeds their database
// (time/tzdata) for systems that have none, such as the images of the manager.
//
// A window begins on each of its days at From, by the clocks of its zone, and ends at To: on the
// next day where To is not after From. On a day on which clocks are changed:
//
//	From or To is skipped       the window begins, or ends, when the clocks are set forward
//	From happens twice          it begins the first time
//	To happens twice            it ends the second time
//
// so a window never ends earlier, or begins later, than its user reads on a clock.
package schedule
