/* What the parts of the binding to PMSIS say to each other. */
#ifndef MA_PMSIS_H
#define MA_PMSIS_H

/* On the controller, once the cluster is open: switches NE16's clock on, and clears it. */
void ma_ne16_open(void);

/* Before a network runs: NE16 may have hung in the one before. */
void ma_ne16_forget(void);

#ifdef MA_COUNTERS
/* Whether the cluster runs a step: 1 on its controller, 0 on the control core. */
int ma_offloaded(void);
#endif

#endif
