#include "apps/train/timetable.h"

void tutti_timetable_saved(tutti_timetable *timetable, int64_t step, double now_s)
{
    timetable->begun_step = step;
    timetable->begun_s = timetable->saved_s = now_s;
}

int tutti_timetable_decide(
    const tutti_timetable *timetable, int64_t step, double now_s, int64_t *next)
{
    double passed_s = now_s - timetable->begun_s, since_s = now_s - timetable->saved_s;
    int64_t passed = step > timetable->begun_step ? step - timetable->begun_step : 1;
    int due = since_s >= timetable->every_s;
    double left_s = due ? timetable->every_s : timetable->every_s - since_s;
    double most = 2 * (double)passed, least = 1;
    double steps = passed_s > 0 ? left_s / passed_s * (double)passed : most;
    *next = step + (int64_t)(steps > most ? most : steps < least ? least : steps);
    return due;
}
