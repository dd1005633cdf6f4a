// Laid over Go's own package time when the control plane is built: time.Now tells the lab's time.
//
// LAMPLIGHTER_INSTANT names a file whose first eight bytes are the present instant, as nanoseconds since 1970 in
// the machine's byte order (local/clock_file.py writes it). Only the wall clock is the lab's: durations, timers and
// deadlines within one process keep the monotonic clock, so a jump of the lab's time ends none of them.
//
// The file counts microseconds; the nanoseconds below are counted here. Time stands while Kubernetes works, and an
// event's name is its object's with the present nanosecond: two of one instant would be one.
package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var labInstant = mapLabInstant()
var labAsked atomic.Int64

func mapLabInstant() *int64 {
	path, named := syscall.Getenv("LAMPLIGHTER_INSTANT")
	if !named {
		return nil
	}
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		panic("LAMPLIGHTER_INSTANT=" + path + ": " + err.Error())
	}
	page, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("LAMPLIGHTER_INSTANT=" + path + ": " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&page[0]))
}

// labNow is the present second and its nanoseconds: the lab's, or the machine's where no clock is named.
func labNow(sec int64, nsec int32) (int64, int32) {
	if labInstant == nil {
		return sec, nsec
	}
	instant := atomic.LoadInt64(labInstant) + labAsked.Add(1)%1000
	return instant / 1e9, int32(instant % 1e9)
}
